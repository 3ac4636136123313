import { useEffect, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { cx } from "@/ui/cx";
import { useWide } from "./media";
import { useSlots } from "./slots";

/** The tab's title: useTitle("Search") is "Search · Mooring". */
export function useTitle(title: string) {
  useEffect(() => {
    document.title = title === "" ? "Mooring" : `${title} · Mooring`;
  }, [title]);
}

interface PageProps {
  title: string;
  /** Stands at the right of the title. */
  actions?: ReactNode;
  /** What a phone's top bar shows, where that is not the title and its actions. */
  bar?: ReactNode;
  /** Stands below the title, and stays when the page scrolls. */
  toolbar?: ReactNode;
  /** `wide` for tables, `text` for what is read. */
  width?: "wide" | "text";
  /** Without it the page scrolls; with it the content fills the rest and scrolls by itself (long tables). */
  fill?: boolean;
  children: ReactNode;
}

/** A page with a title: everything but the chat. */
export function Page({ title, actions, bar, toolbar, width = "wide", fill, children }: PageProps) {
  useTitle(title);
  const inBar = !useWide() && bar === undefined;
  const measure = cx("mx-auto w-full px-4 md:px-8", width === "wide" ? "max-w-[88rem]" : "max-w-3xl");
  return (
    <div className={cx("flex h-full min-h-0 flex-col bg-page", !fill && "overflow-y-auto")}>
      <div className={cx("z-10 shrink-0 bg-page", !fill && "sticky top-0")}>
        {inBar ? (
          <TopBar>
            <h1 className="min-w-0 flex-1 truncate px-1 text-sm font-semibold">{title}</h1>
            {actions && <div className="flex shrink-0 items-center gap-2 pr-2">{actions}</div>}
          </TopBar>
        ) : (
          <header className={cx(measure, "flex min-h-14 flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3")}>
            <h1 className="min-w-0 text-lg font-semibold tracking-tight break-words">{title}</h1>
            {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
          </header>
        )}
        <TopBar>{bar}</TopBar>
        {toolbar ? <div className={cx(measure, "pb-3", inBar && "pt-3")}>{toolbar}</div> : inBar && <div className="h-3" />}
      </div>
      <div className={cx(measure, "min-h-0 flex-1", fill ? "flex flex-col" : "pb-16")}>{children}</div>
    </div>
  );
}

/** A side column of the page: beside it where there is room, in the drawer below the navigation where there is not. */
export function PageSide({ label, children }: { label: string; children: ReactNode }) {
  const wide = useWide();
  const { drawer } = useSlots();
  if (wide) {
    return (
      <aside aria-label={label} className="flex h-full w-72 shrink-0 flex-col border-r border-line bg-canvas">
        {children}
      </aside>
    );
  }
  return drawer && createPortal(<div className="flex h-full flex-col border-t border-line">{children}</div>, drawer);
}

/** What stands in the phone's top bar, beside the menu button: a title, a button. On a wide screen it is not shown. */
export function TopBar({ children }: { children: ReactNode }) {
  const wide = useWide();
  const { bar } = useSlots();
  return !wide && bar && createPortal(children, bar);
}
