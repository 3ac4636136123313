import { ArrowUp, Layers, Search, SlidersHorizontal, X } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useParams } from "@/app/address";
import { useWide } from "@/app/media";
import { Page } from "@/app/Page";
import { isTyping } from "@/app/Shortcuts";
import type { Session } from "@/api/types";
import { Button, cx, EmptyState, ErrorState, Input, Skeleton } from "@/ui";
import { RenameDialog } from "./actions";
import { FilterFields } from "./FilterFields";
import { filterParams, narrowed, noFilters, parseFilters, type Filters } from "./filters";
import { totalText, type ListState } from "./list";
import { flatten } from "./rows";
import { Table, type TableHandle } from "./Table";
import { useList } from "./useList";

export default function Sessions() {
  const params = useParams();
  const filters = useMemo(() => parseFilters(params), [params]);
  const { list, state, hidden } = useList(filters);
  const shown = useLast(state);
  const rows = useMemo(() => flatten(shown, hidden), [shown, hidden]);
  const [renaming, setRenaming] = useState<Session | null>(null);
  const table = useRef<TableHandle>(null);
  const search = useRef<HTMLInputElement>(null);
  useFilterKey(search);
  useEffect(() => {
    list.idle = () => table.current?.idle() ?? true;
  }, [list]);

  const showNew = useCallback(() => {
    list.settle();
    table.current?.top();
  }, [list]);
  const changed = useCallback((session: Session) => {
    list.put(session);
    // One that left the archive, or went there, belongs in another view.
    if (filters.show === "main" ? session.archived : filters.show === "archived" && !session.archived) list.drop(session.id);
  }, [list, filters.show]);

  const nothing = shown.rows.length === 0 && shown.fresh === 0;
  const stale = shown !== state;
  return (
    <Page
      fill
      title="Sessions"
      actions={<Total total={shown.total} narrowed={narrowed(filters) > 0 || filters.q !== ""} />}
      toolbar={<Toolbar filters={filters} rows={shown.rows} search={search} onDown={() => table.current?.focus()} />}
    >
      <div aria-busy={stale} className={cx("relative flex min-h-0 flex-1 flex-col transition-opacity", stale && "pointer-events-none opacity-55")}>
        {state.error && state.rows.length === 0 ? (
          <ErrorState error={state.error} retry={() => void list.more()} />
        ) : shown.total === null ? (
          <Waiting />
        ) : nothing ? (
          <Nothing filters={filters} />
        ) : (
          <Table ref={table} list={list} state={shown} rows={rows} onRename={setRenaming} onChanged={changed} />
        )}
        {!stale && state.fresh > 0 && (
          <button
            type="button"
            onClick={showNew}
            className="animate-rise absolute top-11 left-1/2 z-20 flex h-8 pointer-coarse:h-10 -translate-x-1/2 items-center gap-1.5 rounded-full bg-accent px-3.5 text-sm font-medium text-on-accent shadow-high hover:bg-accent-strong"
          >
            <ArrowUp aria-hidden className="size-4" /> <span role="status">{state.fresh} new</span>
          </button>
        )}
      </div>
      <RenameDialog session={renaming} onClose={() => setRenaming(null)} onChanged={changed} />
    </Page>
  );
}

/** A list, or the one before it until it is there: choosing another filter does not empty the page. */
function useLast(state: ListState): ListState {
  const last = useRef(state);
  if (state.total !== null || state.error !== null) last.current = state;
  return last.current.total === null ? state : last.current;
}

/** "/" goes to the filter here, where it goes to the search page elsewhere. */
function useFilterKey(field: React.RefObject<HTMLInputElement | null>) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open], [role=menu]")) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    };
    addEventListener("keydown", press, { capture: true });
    return () => removeEventListener("keydown", press, { capture: true });
  }, [field]);
}

function Total({ total, narrowed: few }: { total: number | null; narrowed: boolean }) {
  if (total === null) return null;
  return (
    <span className="num text-sm text-faint" aria-live="polite">
      {totalText(total)} {few ? (total === 1 ? "match" : "matches") : total === 1 ? "session" : "sessions"}
    </span>
  );
}

const typingPause = 250; // ms: a list is read once a word is typed, not for each letter

function Toolbar({ filters, rows, search, onDown }: { filters: Filters; rows: Session[]; search: React.RefObject<HTMLInputElement | null>; onDown: () => void }) {
  const [, go] = useLocation();
  const wide = useWide();
  const [open, setOpen] = useState(false);
  const [text, setText] = useState(filters.q);
  const said = useRef(filters.q);
  const latest = useRef(filters);
  latest.current = filters;
  const set = useCallback(
    (change: Partial<Filters>) => {
      const query = filterParams({ ...latest.current, ...change }).toString();
      go(`/sessions${query === "" ? "" : `?${query}`}`, { replace: true });
    },
    [go],
  );
  useEffect(() => {
    // The address changed by itself (back, a link): the field follows.
    if (filters.q !== said.current) setText(filters.q);
    said.current = filters.q;
  }, [filters.q]);
  useEffect(() => {
    if (text === said.current) return;
    const timer = setTimeout(() => {
      said.current = text;
      set({ q: text });
    }, typingPause);
    return () => clearTimeout(timer);
  }, [text, set]);

  const n = narrowed(filters);
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Input
        ref={search}
        type="search"
        aria-label="Filter by title or key"
        aria-keyshortcuts="/"
        placeholder="Title or key"
        icon={<Search />}
        className="min-w-40 flex-1 md:max-w-80 [&>input::-webkit-search-cancel-button]:hidden"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") {
            event.preventDefault();
            onDown();
          } else if (event.key === "Escape" && text !== "") {
            event.preventDefault();
            setText("");
          }
        }}
      />
      {!wide && (
        <Button icon={<SlidersHorizontal className="size-4" />} aria-expanded={open} onClick={() => setOpen(!open)}>
          Filters{n > 0 && ` · ${n}`}
        </Button>
      )}
      {(wide || open) && (
        <div className={cx(wide ? "contents" : "grid w-full grid-cols-2 gap-2")}>
          <FilterFields filters={filters} rows={rows} onChange={set} />
        </div>
      )}
      {(n > 0 || filters.q !== "") && (
        <Button
          look="quiet"
          icon={<X className="size-4" />}
          onClick={() => {
            setText("");
            said.current = "";
            set(noFilters);
          }}
        >
          Clear
        </Button>
      )}
    </div>
  );
}

function Nothing({ filters }: { filters: Filters }) {
  const [, go] = useLocation();
  if (narrowed(filters) > 0 || filters.q !== "") {
    return (
      <EmptyState icon={<Search />} title="No session matches" action={<Button onClick={() => go("/sessions")}>Show all conversations</Button>}>
        The filter looks at titles and keys. What was said inside is found by the search page.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={<Layers />} title="No session yet" action={<Button look="primary" onClick={() => go("/")}>Begin a chat</Button>}>
      Every conversation that passes through Mooring appears here: the chats of these pages, and those of programs whose base URL points at this
      server.
    </EmptyState>
  );
}

const Waiting = () => (
  <div aria-busy="true" aria-label="Loading" className="flex flex-col gap-3 pt-12">
    {Array.from({ length: 9 }, (_, i) => (
      <Skeleton key={i} className="h-7" />
    ))}
  </div>
);
