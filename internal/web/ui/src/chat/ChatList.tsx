import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Archive, ArrowLeft, Pin, Search, SquarePen } from "lucide-react";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { api, query, sentence } from "@/api/client";
import type { SearchPage, Session, SessionID, SessionPage } from "@/api/types";
import { useSlots } from "@/app/slots";
import { Button, cx, Input, Skeleton, useNow } from "@/ui";
import { useChangeSession } from "./actions";
import { ChatMenu } from "./ChatMenu";
import { useChats } from "./chats";
import { clientOf, rowsOf, titleOf, type Row } from "./groups";
import { useHidden } from "./removal";
import type { Run } from "./runs";

interface ChatListProps {
  current: SessionID | null;
  runs: Run[];
}

/** The side list: all sessions, the ones of coding agents too. */
export function ChatList({ current, runs }: ChatListProps) {
  const [text, setText] = useState("");
  const [archived, setArchived] = useState(false);
  const q = useDeferredValue(text.trim());
  return (
    <>
      <div className="flex shrink-0 items-center gap-1.5 px-3 pt-3 pb-2">
        <Input
          type="search"
          aria-label="Search chats"
          placeholder="Search"
          icon={<Search />}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setText("")}
          className="flex-1"
        />
        <NewChat />
      </div>
      {q !== "" ? <Found q={q} current={current} /> : <All archived={archived} setArchived={setArchived} current={current} runs={runs} />}
    </>
  );
}

export function NewChat() {
  const { closeDrawer } = useSlots();
  return (
    <Link href="/" onClick={closeDrawer} aria-label="New chat" title="New chat (n)" className="inline-flex size-9 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-hover hover:text-ink">
      <SquarePen className="size-4.5" />
    </Link>
  );
}

function All({ archived, setArchived, current, runs }: ChatListProps & { archived: boolean; setArchived: (on: boolean) => void }) {
  const state = useChats(archived ? "archive" : "current");
  const hidden = useHidden();
  const now = useNow();
  const day = now.toDateString();
  const rows = useMemo(
    () => rowsOf(state.sessions.filter((one) => !hidden.has(one.id)), new Date(day)),
    [state.sessions, hidden, day],
  );
  const marks = useMemo(() => marksOf(runs), [runs]);
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (i) => (rows[i]!.kind === "head" ? 34 : 36),
    getItemKey: (i) => keyOf(rows[i]!),
    overscan: 12,
  });
  const items = list.getVirtualItems();
  const near = (items.at(-1)?.index ?? 0) >= rows.length - 15;
  const readMore = near && state.more && !state.loading && state.error === null;
  useEffect(() => {
    if (readMore) state.readMore();
  }, [readMore]);
  return (
    <>
      {archived && (
        <button type="button" onClick={() => setArchived(false)} className="mx-3 mb-1 flex h-9 shrink-0 items-center gap-2 rounded-lg px-2 text-sm font-medium text-soft hover:bg-hover">
          <ArrowLeft className="size-4" /> Archived chats
        </button>
      )}
      <div ref={box} className="min-h-0 flex-1 overflow-y-auto px-2 pb-2">
        {rows.length === 0 && state.loading && <Loading />}
        {rows.length === 0 && !state.loading && state.error === null && (
          <p className="px-3 py-6 text-center text-sm text-pretty text-faint">
            {archived ? "Nothing is archived." : "No chat yet. Ask something, or connect a client: its sessions appear here."}
          </p>
        )}
        <ul aria-label={archived ? "Archived chats" : "Chats"} className="relative" style={{ height: list.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index]!;
            return (
              <li key={item.key} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)`, height: item.size }}>
                {row.kind === "head" ? (
                  <h2 className="px-2.5 pt-3.5 text-xs font-medium text-faint">{row.label}</h2>
                ) : (
                  <ChatRow session={row.session} here={row.session.id === current} mark={marks.get(row.session.id) ?? (row.session.state === "running" ? "running" : null)} />
                )}
              </li>
            );
          })}
        </ul>
        {state.error !== null && (
          <p role="alert" className="px-3 py-3 text-sm text-soft">
            {sentence(state.error)}{" "}
            <button type="button" className="font-medium text-accent hover:underline" onClick={state.readMore}>Try again</button>
          </p>
        )}
      </div>
      {!archived && (
        <div className="shrink-0 border-t border-line px-3 py-1.5">
          <Button look="quiet" size="sm" icon={<Archive className="size-3.5" />} onClick={() => setArchived(true)}>Archived</Button>
        </div>
      )}
    </>
  );
}

const keyOf = (row: Row) => (row.kind === "head" ? `# ${row.label}` : row.session.id);

type Mark = "running" | "new" | null;

function marksOf(runs: Run[]): Map<SessionID, Mark> {
  const marks = new Map<SessionID, Mark>();
  for (const run of runs) if (run.session) marks.set(run.session, run.phase === "ended" ? (run.outcome === "refused" ? null : "new") : "running");
  return marks;
}

function ChatRow({ session, here, mark }: { session: Session; here: boolean; mark: Mark }) {
  const [renaming, setRenaming] = useState(false);
  const { closeDrawer } = useSlots();
  if (renaming) return <Rename session={session} onDone={() => setRenaming(false)} />;
  const [title, client] = [titleOf(session), clientOf(session)];
  return (
    <div className={cx("group/row flex h-9 items-center rounded-lg pr-1 transition-colors", here ? "bg-accent-soft" : "hover:bg-hover focus-within:bg-hover")}>
      <Link
        href={`/chat/${session.friendly_id}`}
        onClick={closeDrawer}
        onDoubleClick={() => setRenaming(true)}
        aria-current={here ? "page" : undefined}
        className="flex h-full min-w-0 flex-1 items-center gap-2 rounded-lg pl-2.5 text-sm -outline-offset-2"
      >
        {session.pinned && <Pin aria-label="Pinned" className="size-3 shrink-0 text-faint" />}
        <span className={cx("min-w-0 flex-1 truncate", here && "font-medium", mark === "new" && "font-semibold")} title={title}>{title}</span>
        {client && <span className="max-w-24 shrink-0 truncate text-xs text-faint group-focus-within/row:hidden pointer-fine:group-hover/row:hidden">{client}</span>}
        {mark && <span role="img" aria-label={mark === "running" ? "An answer is being written" : "A new answer"} className={cx("mx-1.5 size-2 shrink-0 rounded-full bg-accent", mark === "running" && "animate-soft")} />}
      </Link>
      <ChatMenu session={session} here={here} onRename={() => setRenaming(true)} className="pointer-fine:w-0 pointer-fine:opacity-0 group-hover/row:w-7 group-hover/row:opacity-100 focus-visible:w-7 focus-visible:opacity-100 group-focus-within/row:w-7 group-focus-within/row:opacity-100 data-[state=open]:w-7 data-[state=open]:opacity-100" />
    </div>
  );
}

/** Renames in place: Enter keeps, Escape leaves it as it was. */
export function Rename({ session, onDone, className }: { session: Session; onDone: () => void; className?: string }) {
  const change = useChangeSession();
  const [title, setTitle] = useState(session.title);
  const left = useRef(false);
  const finish = (keep: boolean) => {
    if (left.current) return;
    left.current = true;
    if (keep && title.trim() !== session.title) void change(session, { title: title.trim() });
    onDone();
  };
  return (
    <input
      aria-label="Title"
      autoFocus
      maxLength={200}
      value={title}
      onChange={(event) => setTitle(event.target.value)}
      onFocus={(event) => event.currentTarget.select()}
      onBlur={() => finish(true)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") finish(true);
        if (event.key === "Escape") {
          event.preventDefault();
          finish(false);
        }
      }}
      className={cx("h-9 w-full rounded-lg border border-line-strong bg-raised px-2.5 text-sm -outline-offset-1", className)}
    />
  );
}

/** What a search in the list finds: chats by their title, and messages by their words. */
function Found({ q, current }: { q: string; current: SessionID | null }) {
  const debounced = useDebounced(q, 160);
  const hidden = useHidden();
  const titles = useQuery({
    queryKey: ["sessions", "found", debounced],
    queryFn: ({ signal }) => api<SessionPage>(`/api/sessions${query({ q: debounced, limit: 20 })}`, { signal }),
    placeholderData: keepPreviousData,
  });
  const words = useQuery({
    queryKey: ["search", debounced, "side"],
    queryFn: ({ signal }) => api<SearchPage>(`/api/search${query({ q: debounced, limit: 20 })}`, { signal }),
    placeholderData: keepPreviousData,
  });
  const sessions = (titles.data?.sessions ?? []).filter((one) => !hidden.has(one.id));
  const results = (words.data?.results ?? []).filter((one) => one.message_id !== null && !hidden.has(one.session_id));
  const none = !titles.isPending && !words.isPending && sessions.length === 0 && results.length === 0;
  const error = titles.error ?? words.error;
  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-3" aria-busy={titles.isFetching || words.isFetching}>
      {error !== null && <p role="alert" className="px-3 py-3 text-sm text-soft">{sentence(error)}</p>}
      {titles.isPending && <Loading />}
      {none && <p className="px-3 py-6 text-center text-sm break-words text-faint">Nothing holds “{q}”.</p>}
      {sessions.length > 0 && <h2 className="px-2.5 pt-2 pb-1 text-xs font-medium text-faint">Chats</h2>}
      {sessions.map((session) => (
        <ChatRow key={session.id} session={session} here={session.id === current} mark={null} />
      ))}
      {results.length > 0 && <h2 className="px-2.5 pt-4 pb-1 text-xs font-medium text-faint">Messages</h2>}
      {results.map((result) => (
        <FoundMessage key={result.message_id} result={result} />
      ))}
      <Link href={`/search${query({ q })}`} className="mt-3 block rounded-lg px-2.5 py-2 text-sm font-medium text-accent hover:bg-hover">
        Search everywhere
      </Link>
    </div>
  );
}

function FoundMessage({ result }: { result: SearchPage["results"][number] }) {
  const { closeDrawer } = useSlots();
  return (
    <Link href={`/chat/${result.session_id}${query({ message: result.message_id })}`} onClick={closeDrawer} className="block rounded-lg px-2.5 py-2 text-sm -outline-offset-2 hover:bg-hover">
      <span className="block truncate font-medium">{result.title || "Untitled chat"}</span>
      <span className="line-clamp-2 text-xs break-words text-soft">{result.snippet}</span>
    </Link>
  );
}

function Loading() {
  return (
    <div aria-label="Loading" className="space-y-2 px-2 py-3">
      {["w-4/5", "w-3/5", "w-11/12", "w-2/3", "w-3/4"].map((width) => (
        <Skeleton key={width} className={cx("h-5", width)} />
      ))}
    </div>
  );
}

function useDebounced<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
