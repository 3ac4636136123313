import { ChartColumn, CircleUser, Layers, LogOut, MessageSquare, Menu as MenuIcon, Moon, Search, Server, ServerOff, Sun, SunMoon, Users, WifiOff } from "lucide-react";
import { Suspense, useEffect, useMemo, useState, type ComponentType, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import { useMe } from "@/api/hooks";
import { useLive, useLiveState } from "@/api/live";
import type { Me } from "@/api/types";
import { forgetDrafts } from "@/chat/memory";
import { keepOutbox } from "@/chat/outbox";
import { runs } from "@/chat/runs";
import { cx, Drawer, IconButton, Mark, Menu, MenuChoice, MenuItem, MenuLabel, MenuLine } from "@/ui";
import { Boundary } from "./Boundary";
import { useOnline, useWide } from "./media";
import { Shortcuts } from "./Shortcuts";
import { SlotsContext } from "./slots";
import { setTheme, useTheme } from "./theme";

interface Place {
  href: string;
  label: string;
  icon: ComponentType<{ className?: string }>;
  operator?: boolean;
}

const places: Place[] = [
  { href: "/", label: "Chat", icon: MessageSquare },
  { href: "/sessions", label: "Sessions", icon: Layers },
  { href: "/search", label: "Search", icon: Search },
  { href: "/usage", label: "Usage", icon: ChartColumn },
  { href: "/upstreams", label: "Upstreams", icon: Server },
  { href: "/tenants", label: "Tenants", icon: Users, operator: true },
];

const isAt = (place: Place, path: string) =>
  place.href === "/" ? path === "/" || path.startsWith("/chat/") : path === place.href || path.startsWith(`${place.href}/`);

/** One boundary for each page; the chat and its sessions are one. */
const boundaryOf = (path: string) => (path.startsWith("/chat/") ? "" : (path.split("/")[1] ?? ""));

/** The frame of all pages but sign-in: the rail (a drawer on a phone), and the page. */
export function Shell({ children }: { children: ReactNode }) {
  useLive();
  useEffect(() => void keepOutbox(runs), []); // on whichever page somebody comes back
  const wide = useWide();
  const me = useMe();
  const [path] = useLocation();
  const [open, setOpen] = useState(false);
  const [drawer, setDrawer] = useState<HTMLElement | null>(null);
  const [bar, setBar] = useState<HTMLElement | null>(null);
  const slots = useMemo(() => ({ drawer, bar, closeDrawer: () => setOpen(false) }), [drawer, bar]);
  useEffect(() => setOpen(false), [path, wide]);

  const shown = places.filter((place) => !place.operator || me.data?.role === "operator");
  return (
    <SlotsContext value={slots}>
      <a href="#main" className="sr-only rounded-lg bg-ink px-4 py-2 text-page focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50">
        Skip to the page
      </a>
      <div inert={open} className="flex h-dvh flex-col md:flex-row">
        {wide ? (
          <nav aria-label="Pages" className="flex w-[4.75rem] shrink-0 flex-col items-center gap-0.5 border-r border-line bg-canvas px-1.5 py-3">
            <Link href="/" aria-label="Mooring: new chat" className="mb-3 rounded-lg p-1.5">
              <Mark className="size-6.5" />
            </Link>
            {shown.map((place) => (
              <RailLink key={place.href} place={place} here={isAt(place, path)} />
            ))}
            <span className="flex-1" />
            <UserMenu me={me.data} side="right" />
          </nav>
        ) : (
          <header className="flex h-12 shrink-0 items-center gap-1 border-b border-line bg-canvas px-1.5">
            <IconButton label="Open the menu" onClick={() => setOpen(true)}>
              <MenuIcon className="size-5" />
            </IconButton>
            <div ref={setBar} className="flex min-w-0 flex-1 items-center gap-1" />
          </header>
        )}
        <main id="main" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col bg-page outline-none">
          <Away />
          <div className="min-h-0 flex-1">
            <Boundary key={boundaryOf(path)}>
              <Suspense fallback={null}>{children}</Suspense>
            </Boundary>
          </div>
        </main>
      </div>
      {!wide && (
        <Drawer open={open} onClose={() => setOpen(false)} label="Menu">
          <div className="flex h-full flex-col">
            <div className="flex items-center gap-2 px-4 pt-4 pb-2 font-semibold tracking-tight">
              <Mark className="size-5.5" /> <span className="flex-1">Mooring</span>
              <UserMenu me={me.data} side="bottom" />
            </div>
            <nav aria-label="Pages" className="grid grid-cols-3 gap-1 px-2 pb-3">
              {shown.map((place) => (
                <RailLink key={place.href} place={place} here={isAt(place, path)} onGo={() => setOpen(false)} />
              ))}
            </nav>
            <div ref={setDrawer} className="min-h-0 flex-1" />
          </div>
        </Drawer>
      )}
      <Shortcuts />
    </SlotsContext>
  );
}

function RailLink({ place, here, onGo }: { place: Place; here: boolean; onGo?: () => void }) {
  const Icon = place.icon;
  return (
    <Link
      href={place.href}
      onClick={onGo}
      aria-current={here ? "page" : undefined}
      className={cx(
        "flex w-full flex-col items-center gap-1 rounded-xl px-1 py-2 text-[0.6875rem] leading-none font-medium transition-colors",
        here ? "bg-accent-soft text-accent" : "text-soft hover:bg-hover hover:text-ink",
      )}
    >
      <Icon className="size-5 stroke-[1.75]" />
      {place.label}
    </Link>
  );
}

function UserMenu({ me, side }: { me: Me | undefined; side: "right" | "bottom" }) {
  const theme = useTheme();
  const client = useQueryClient();
  const signOut = async () => {
    await api("/api/sign-out", { method: "POST" }).catch(() => {});
    forgetDrafts();
    client.clear();
    location.assign("/sign-in");
  };
  return (
    <Menu
      side={side}
      align="end"
      trigger={
        <IconButton label="You and settings" side="right" className="size-10">
          <CircleUser className="size-5 stroke-[1.75]" />
        </IconButton>
      }
    >
      {me && (
        <div className="px-2.5 py-2 text-sm">
          <p className="font-medium break-words">{me.key ?? "This machine"}</p>
          <p className="text-xs text-faint">
            Tenant {me.tenant}
            {me.role === "operator" && " · operator"}
          </p>
        </div>
      )}
      <MenuLine />
      <MenuLabel>Theme</MenuLabel>
      <MenuChoice
        value={theme}
        onChange={setTheme}
        options={[
          { value: "system", label: <ThemeName icon={<SunMoon className="size-4" />} name="Like the system" /> },
          { value: "light", label: <ThemeName icon={<Sun className="size-4" />} name="Light" /> },
          { value: "dark", label: <ThemeName icon={<Moon className="size-4" />} name="Dark" /> },
        ]}
      />
      {me?.signed_in && (
        <>
          <MenuLine />
          <MenuItem icon={<LogOut />} onSelect={() => void signOut()}>
            Sign out
          </MenuItem>
        </>
      )}
      {me && <p className="px-2.5 pt-2 pb-1 text-xs text-faint">Mooring {me.version}</p>}
    </Menu>
  );
}

const ThemeName = ({ icon, name }: { icon: ReactNode; name: string }) => (
  <span className="flex items-center gap-2">
    <span className="text-faint">{icon}</span> {name}
  </span>
);

/** Says that nothing on the page can be fresh, and goes away by itself. */
function Away() {
  const online = useOnline();
  const lost = useLiveState() === "lost";
  if (online && !lost) return null;
  const Icon = online ? ServerOff : WifiOff;
  return (
    <p role="status" className="flex items-center justify-center gap-2 bg-warn-soft px-4 py-1.5 text-center text-sm text-warn">
      <Icon aria-hidden className="size-4 shrink-0" />
      {online ? "Mooring cannot be reached. This page goes on by itself as soon as it can." : "You are offline. What you send waits here until you are back."}
    </p>
  );
}
