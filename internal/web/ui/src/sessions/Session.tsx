import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronLeft, Download, Ellipsis, FileJson, FileQuestion, FileText, MessageSquare } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { useParams, usePathRest } from "@/app/address";
import { useWide } from "@/app/media";
import { Page } from "@/app/Page";
import { ApiError, api, query, sessionPath } from "@/api/client";
import { useSession } from "@/api/hooks";
import { keys } from "@/api/keys";
import type { Session as Shown, SessionPage } from "@/api/types";
import { Button, EmptyState, ErrorState, IconButton, Menu, MenuLine, MenuLink, RelativeTime, Skeleton, StateBadge } from "@/ui";
import { Tabs } from "@/ui/Tabs";
import { OpenChat, RenameDialog, SessionActions } from "./actions";
import { chatAddress, sessionAddress, titleOf } from "./names";
import { Facts, FoldedFacts } from "./page/Facts";
import { Timeline } from "./page/Timeline";
import { Tree, useTree } from "./page/Tree";

// The messages bring the chat page's Markdown with them.
const Messages = lazy(() => import("./page/Messages"));

/** One session, by its internal id or its key. */
export default function Session() {
  const name = usePathRest("/sessions/");
  const session = useSession(name);
  useOwnAddress(name, session.data);
  if (session.data) return <Found session={session.data} key={session.data.id} />;
  if (session.error) return <Page title="Session">{refused(session.error, name, () => void session.refetch())}</Page>;
  return <Waiting />;
}

/** A session that was asked for by its key gets the address that stays: live changes name the id. */
function useOwnAddress(name: string, session: Shown | undefined) {
  const client = useQueryClient();
  const [, go] = useLocation();
  useEffect(() => {
    if (!session || session.id === name) return;
    client.setQueryData(keys.session(session.id), session);
    go(sessionAddress(session.id) + location.search, { replace: true });
  }, [client, go, name, session]);
}

function refused(error: unknown, name: string, retry: () => void) {
  if (error instanceof ApiError && error.code === "ambiguous_key") return <Ambiguous name={name} />;
  if (error instanceof ApiError && error.status === 404) {
    return (
      <EmptyState icon={<FileQuestion />} title="There is no such session" action={<Link href="/sessions" className="text-sm font-medium text-accent hover:underline">All sessions</Link>}>
        It was deleted, or the address was mistyped. A session that belongs to somebody else is not shown either.
      </EmptyState>
    );
  }
  return <ErrorState error={error} retry={retry} title="This session could not be loaded" />;
}

/** Several sessions have the key that the address names: which one is for the reader to say. */
function Ambiguous({ name }: { name: string }) {
  const found = useQuery({
    queryKey: keys.sessions({ q: name, ambiguous: 1 }),
    queryFn: async ({ signal }) => (await api<SessionPage>(`/api/sessions${query({ q: name, limit: 200 })}`, { signal })).sessions.filter((one) => one.key === name),
  });
  return (
    <div className="mx-auto max-w-xl py-10">
      <p className="font-medium">Several sessions have this key</p>
      <p className="mt-1 text-sm text-soft">
        <code className="break-all">{name}</code> names more than one session. Choose the one you mean:
      </p>
      <ul className="mt-4 divide-y divide-line border-y border-line">
        {found.data?.map((one) => (
          <li key={one.id}>
            <Link href={sessionAddress(one.id)} className="flex items-center gap-3 px-2 py-2.5 text-sm hover:bg-hover">
              <span className="min-w-0 flex-1 truncate font-medium">{titleOf(one)}</span>
              <StateBadge state={one.state} />
              <RelativeTime at={one.updated_at} className="text-faint" />
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

const Waiting = () => (
  <Page title="Session">
    <div aria-busy="true" aria-label="Loading" className="flex flex-col gap-4 pt-1">
      <Skeleton className="h-5 w-72 max-w-full" />
      <Skeleton className="h-24" />
      <Skeleton className="h-8 w-64 max-w-full" />
      {Array.from({ length: 5 }, (_, i) => <Skeleton key={i} className="h-10" />)}
    </div>
  </Page>
);

type TabName = "turns" | "messages" | "tree";

function Found({ session }: { session: Shown }) {
  const [, go] = useLocation();
  const params = useParams();
  const wide = useWide();
  const tip = params.get("tip");
  const tab = tabOf(params.get("tab"), tip);
  const client = useQueryClient();
  const [renaming, setRenaming] = useState(false);
  const tree = useTree(session);
  const set = (change: Record<string, string | null>) => {
    const next = new URLSearchParams(params);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    const text = next.toString();
    go(`/sessions/${encodeURIComponent(session.id)}${text === "" ? "" : `?${text}`}`, { replace: true });
  };
  const changed = (now: Shown) => client.setQueryData(keys.session(session.id), now);
  const below = tree.count;
  const more = <IconButton label="More"><Ellipsis className="size-4.5" /></IconButton>;
  const actions = <SessionActions session={session} onChanged={changed} onRename={() => setRenaming(true)} onRemoved={() => go("/sessions")} />;
  return (
    <Page
      title={titleOf(session)}
      actions={
        wide && (
          <>
            <Button icon={<MessageSquare className="size-4" />} onClick={() => go(chatAddress(session, tip))}>Open the chat</Button>
            <Menu trigger={<Button icon={<Download className="size-4" />}>Export</Button>}>
              <Exports session={session} tip={tip} />
            </Menu>
            <Menu trigger={more}>{actions}</Menu>
          </>
        )
      }
      bar={
        <>
          <Link href="/sessions" className="flex min-h-10 flex-1 items-center gap-1 rounded-lg px-1.5 text-sm font-medium text-soft print:hidden">
            <ChevronLeft aria-hidden className="size-4" /> Sessions
          </Link>
          <Menu trigger={more}>
            <OpenChat session={session} />
            <Exports session={session} tip={tip} />
            <MenuLine />
            {actions}
          </Menu>
        </>
      }
    >
      {wide ? <Facts session={session} /> : <FoldedFacts session={session} />}
      <div className="mt-6 flex flex-col">
        <Tabs
          label="Parts of this session"
          value={tab}
          onChange={(value) => set({ tab: value, tip: value === "messages" ? tip : null })}
          tabs={[
            { value: "turns", label: <Counted word="Turns" n={session.turns} />, content: <Timeline session={session} /> },
            { value: "messages", label: "Messages", content: (
                <Suspense fallback={null}>
                  <Messages session={session} tip={tip} onTip={(next) => set({ tab: "messages", tip: next })} />
                </Suspense>
              ) },
            { value: "tree", label: <Counted word="Tree" n={below > 1 ? below : null} />, content: <Tree session={session} tree={tree} /> },
          ]}
        />
      </div>
      <RenameDialog session={renaming ? session : null} onClose={() => setRenaming(false)} onChanged={changed} />
    </Page>
  );
}

function tabOf(said: string | null, tip: string | null): TabName {
  if (said === "turns" || said === "messages" || said === "tree") return said;
  return tip === null ? "turns" : "messages";
}

const Counted = ({ word, n }: { word: string; n: number | null }) => (
  <>
    {word}
    {n !== null && <span className="num ml-1.5 font-normal text-faint">{n}</span>}
  </>
);

function Exports({ session, tip }: { session: Shown; tip: string | null }) {
  const address = (format: string) => `${sessionPath(session.id)}/export${query({ format, tip })}`;
  return (
    <>
      <MenuLink icon={<FileText />} href={address("markdown")} download>Export as Markdown</MenuLink>
      <MenuLink icon={<FileJson />} href={address("jsonl")} download>Export as JSON Lines</MenuLink>
    </>
  );
}
