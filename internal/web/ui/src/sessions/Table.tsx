import { RotateCw } from "lucide-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useImperativeHandle, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent, type Ref } from "react";
import { useLocation } from "wouter";
import { useWide } from "@/app/media";
import type { Session } from "@/api/types";
import { Button, cx, Spinner, Unprinted } from "@/ui";
import type { ListState, SessionList } from "./list";
import { sessionAddress } from "./names";
import { NoteRow, SessionRow } from "./Row";
import { columnsOf } from "./columns";
import { parentOf, type Row } from "./rows";

export interface TableHandle {
  /** Nobody points at a row or stands in one, and the list's head is in sight: rows may move. */
  idle: () => boolean;
  top: () => void;
  focus: () => void;
}

interface TableProps {
  list: SessionList;
  state: ListState;
  rows: Row[];
  onRename: (session: Session) => void;
  onChanged: (session: Session) => void;
  ref: Ref<TableHandle>;
}

const rowHeight = 44;
const cardHeight = 84;
const headHeight = 36;
const ahead = 60; // rows before the end at which the next page is asked for

/** The sessions as a tree grid of which only the rows in sight are in the document. */
export function Table({ list, state, rows, onRename, onChanged, ref }: TableProps) {
  const wide = useWide();
  const [, go] = useLocation();
  const box = useRef<HTMLDivElement>(null);
  const pointed = useRef(false);
  const [active, setActive] = useState<string | null>(null);
  const at = useMemo(() => (active === null ? 0 : Math.max(0, rows.findIndex((row) => row.key === active))), [rows, active]);
  // With another function it would measure all rows again, at each scrolling.
  const keyAt = useCallback((index: number) => rows[index]!.key, [rows]);
  const sizeOf = useCallback(() => (wide ? rowHeight : cardHeight), [wide]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: sizeOf,
    getItemKey: keyAt,
    overscan: 8,
    scrollPaddingStart: wide ? headHeight : 0,
  });
  useEffect(() => virtual.measure(), [virtual, wide]);

  const projects = state.projects;
  const { columns, grid } = columnsOf(projects);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (state.more && !state.loading && !state.error && last >= rows.length - ahead) void list.more();
  }, [list, state, last, rows.length]);

  const focusRow = useCallback(
    (index: number) => {
      const row = rows[index];
      if (!row) return;
      setActive(row.key);
      virtual.scrollToIndex(index);
      // The row may be in the document only after the scrolling.
      requestAnimationFrame(() => requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(row.key)}"]`)?.focus({ preventScroll: true })));
    },
    [rows, virtual],
  );
  useImperativeHandle(ref, () => ({
    idle: () => !pointed.current && (box.current?.scrollTop ?? 0) < rowHeight && !box.current?.contains(document.activeElement) && !document.querySelector("[role=menu]"),
    top: () => virtual.scrollToOffset(0),
    focus: () => focusRow(at),
  }), [virtual, focusRow, at]);

  const toggle = useCallback((row: Row) => row.kind === "session" && row.opens && (row.open ? list.close(row.session.id) : list.open(row.session.id)), [list]);
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    if (!(event.target instanceof HTMLElement) || !event.target.dataset["row"] || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = rows[at];
    if (!row) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / (wide ? rowHeight : cardHeight)) - 2);
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 };
    const to = moves[event.key];
    if (to !== undefined) {
      focusRow(Math.min(Math.max(to, 0), rows.length - 1));
    } else if (event.key === "ArrowRight" && row.kind === "session" && row.opens) {
      if (row.open) focusRow(at + 1);
      else toggle(row);
    } else if (event.key === "ArrowLeft") {
      if (row.kind === "session" && row.open) toggle(row);
      else focusRow(parentOf(rows, at));
    } else if (event.key === "Enter") {
      go(sessionAddress(row.kind === "session" ? row.session.id : row.parent));
    } else {
      return;
    }
    event.preventDefault();
  };
  const open = useCallback((event: MouseEvent, row: Row) => {
    // A link, a button, a menu, or a text that is being selected: theirs.
    if (event.defaultPrevented || event.button !== 0 || (event.target as HTMLElement).closest("a, button, [role=menu]") || getSelection()?.type === "Range") return;
    go(sessionAddress(row.kind === "session" ? row.session.id : row.parent));
  }, [go]);

  return (
    <>
      <div
        ref={box}
        role="treegrid"
        aria-label="Sessions"
        aria-rowcount={state.more ? -1 : rows.length + 1}
        aria-colcount={columns.length}
        onKeyDown={press}
        onPointerEnter={(event) => (pointed.current = event.pointerType === "mouse")}
        onPointerLeave={() => (pointed.current = false)}
        className="-mx-4 min-h-0 flex-1 overflow-x-hidden overflow-y-auto overscroll-contain [overflow-anchor:none] md:-mx-3"
      >
        <div role="rowgroup" className={cx("z-10 bg-page", wide ? "sticky top-0" : "sr-only")}>
          <div role="row" aria-rowindex={1} className={cx(grid, "h-9 border-b border-line px-3 text-xs font-medium text-faint")}>
            {columns.map((column) => (
              <span key={column.name} role="columnheader" className={column.className}>
                {column.hidden ? <span className="sr-only">{column.name}</span> : column.name}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            const shared = { index: item.index, top: item.start, height: item.size, wide, projects, current: item.index === at };
            return row.kind === "session" ? (
              <SessionRow
                key={row.key}
                row={row}
                {...shared}
                onFocus={setActive}
                onOpen={open}
                onToggle={toggle}
                onRename={onRename}
                onChanged={onChanged}
              />
            ) : (
              <NoteRow key={row.key} row={row} {...shared} onFocus={setActive} onOpen={open} />
            );
          })}
        </div>
        {state.loading && state.more && (
          <p className="flex h-11 items-center justify-center gap-2 text-sm text-faint">
            <Spinner /> Loading more
          </p>
        )}
      </div>
      {items.length < rows.length && <Unprinted>These are the sessions that were in sight, of more than there is room for.</Unprinted>}
      {state.error !== null && <PageFailed retry={() => void list.more()} />}
    </>
  );
}

/** Below the rows: the next page could not be read. */
function PageFailed({ retry }: { retry: () => void }) {
  return (
    <p role="alert" className="flex items-center justify-center gap-3 border-t border-line py-2 text-sm text-bad">
      The next sessions could not be loaded.
      <Button size="sm" icon={<RotateCw className="size-3.5" />} onClick={retry}>Try again</Button>
    </p>
  );
}
