import { Check } from "lucide-react";
import { cloneElement, createContext, use, useId, useRef, useState, type ComponentProps, type KeyboardEvent, type PointerEvent, type ReactElement, type ReactNode } from "react";
import { late } from "@/app/late";
import { cx } from "./cx";
import { toast } from "./toast";

/** What a menu is made of comes with the first one that is pointed at: a page is there sooner without, and a list has a menu in each row. */
const MenuBody = late(() => import("./MenuBody"));

/** The parts of the library that menus are built with, for what stands in one. */
export const MenuParts = createContext<typeof import("@radix-ui/react-menu") | null>(null);

export interface MenuPlace {
  align?: "start" | "center" | "end";
  side?: "top" | "bottom" | "right";
}

interface MenuProps extends MenuPlace {
  /** A button, or what renders one and hands its props on to it. */
  trigger: ReactElement<ComponentProps<"button">>;
  children: ReactNode;
}

/** A menu below (or beside) its trigger. */
export function Menu({ trigger, children, align = "end", side = "bottom" }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const [opened, setOpened] = useState<"by pointer" | "by key" | null>(null);
  const toggle = (by: "by pointer" | "by key") => {
    if (opened !== null) return setOpened(null);
    MenuBody.load().then(() => setOpened(by), notFetched);
  };
  const fetchSoon = () => void MenuBody.load().catch(() => {});
  return (
    <>
      {cloneElement(trigger, {
        ref: button,
        id,
        "aria-haspopup": "menu",
        "aria-expanded": opened !== null,
        "data-state": opened === null ? "closed" : "open",
        onPointerEnter: fetchSoon,
        onFocus: fetchSoon,
        onPointerDown: (event: PointerEvent) => {
          if (event.button !== 0 || event.ctrlKey) return;
          if (opened === null) event.preventDefault(); // the focus goes into the menu
          toggle("by pointer");
        },
        onKeyDown: (event: KeyboardEvent) => {
          if (!["Enter", " ", "ArrowDown"].includes(event.key)) return;
          event.preventDefault();
          if (opened === null || event.key !== "ArrowDown") toggle("by key");
        },
      } as ComponentProps<"button">)}
      {opened !== null && (
        <MenuBody button={button} labelledBy={id} align={align} side={side} byKey={opened === "by key"} onClose={() => setOpened(null)}>
          {children}
        </MenuBody>
      )}
    </>
  );
}

/** Said where the server is away before the first menu was opened. */
export const notFetched = () => toast({ text: "This could not be opened: Mooring cannot be reached. Try again when it can.", tone: "bad" });

const item =
  "flex min-h-8 pointer-coarse:min-h-10 cursor-pointer select-none items-center gap-2.5 rounded-lg px-2.5 py-1 text-sm outline-none data-[disabled]:opacity-45 data-[highlighted]:bg-hover";

export function MenuItem({ icon, danger, onSelect, disabled, children }: { icon?: ReactNode; danger?: boolean; onSelect: () => void; disabled?: boolean; children: ReactNode }) {
  const { Item } = use(MenuParts)!;
  return (
    <Item className={cx(item, danger && "text-bad")} onSelect={onSelect} disabled={disabled ?? false}>
      {icon && <span className="text-faint [&>svg]:size-4">{icon}</span>}
      {children}
    </Item>
  );
}

export function MenuLink({ icon, href, children, download }: { icon?: ReactNode; href: string; children: ReactNode; download?: boolean }) {
  const { Item } = use(MenuParts)!;
  return (
    <Item asChild>
      <a href={href} download={download} className={item}>
        {icon && <span className="text-faint [&>svg]:size-4">{icon}</span>}
        {children}
      </a>
    </Item>
  );
}

/** One of several, the chosen one marked. */
export function MenuChoice<T extends string>({ value, onChange, options }: { value: T; onChange: (value: T) => void; options: { value: T; label: ReactNode }[] }) {
  const { ItemIndicator, RadioGroup, RadioItem } = use(MenuParts)!;
  return (
    <RadioGroup value={value} onValueChange={(next) => onChange(next as T)}>
      {options.map((option) => (
        <RadioItem key={option.value} value={option.value} className={cx(item, "pl-8 relative")}>
          <ItemIndicator className="absolute left-2.5 text-accent">
            <Check className="size-4" />
          </ItemIndicator>
          {option.label}
        </RadioItem>
      ))}
    </RadioGroup>
  );
}

export const MenuLabel = ({ children }: { children: ReactNode }) => {
  const { Label } = use(MenuParts)!;
  return <Label className="px-2.5 pt-1.5 pb-1 text-xs text-faint">{children}</Label>;
};

export const MenuLine = () => {
  const { Separator } = use(MenuParts)!;
  return <Separator className="mx-1 my-1 h-px bg-line" />;
};
