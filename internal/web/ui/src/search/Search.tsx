import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { CircleAlert, MessageSquare, Search as Glass } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { Link, useLocation } from "wouter";
import { useParams } from "@/app/address";
import { Page } from "@/app/Page";
import { isTyping } from "@/app/Shortcuts";
import { api, query } from "@/api/client";
import { keys } from "@/api/keys";
import type { SearchPage, SearchResult } from "@/api/types";
import { chatAddress, sessionAddress } from "@/sessions/names";
import { Badge, Button, cx, EmptyState, ErrorState, IconButton, RelativeTime, Skeleton, Spinner } from "@/ui";
import { highlight } from "./highlight";

const typingPause = 180; // ms between the last letter and the question to the server
const few = 30;
const most = 100; // the server's own bound

/** Finds what was said in any session. */
export default function Search() {
  const { text, setText, asked } = useAsked();
  const [limit, setLimit] = useState(few);
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLOListElement>(null);
  useFieldKey(field);
  useEffect(() => setLimit(few), [asked]);
  const found = useQuery({
    // Each query has an answer of its own, and what was asked before is called off: an old answer never stands under a newer query.
    queryKey: [...keys.search(asked), limit],
    queryFn: ({ signal }) => api<SearchPage>(`/api/search${query({ q: asked, limit })}`, { signal }),
    enabled: asked.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: 2_000,
  });
  const move = (event: KeyboardEvent, from: number) => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>("[data-result]") ?? [])];
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: from < 0 ? NaN : 0, End: from < 0 ? NaN : links.length - 1 }[event.key] ?? NaN;
    if (Number.isNaN(to)) return;
    event.preventDefault();
    if (to < 0) field.current?.focus();
    else links[Math.min(to, links.length - 1)]?.focus();
  };
  const shown = asked.trim() === "" ? null : (found.data ?? null);
  const late = found.isFetching || text !== asked;
  return (
    <Page
      title="Search"
      width="text"
      toolbar={
        <div role="search" className="relative">
          <Glass aria-hidden className="pointer-events-none absolute top-1/2 left-3.5 size-4.5 -translate-y-1/2 text-faint" />
          <input
            ref={field}
            type="search"
            aria-label="Search everything that was said"
            aria-keyshortcuts="/"
            placeholder="Anything that was said: src/main.py, don’t, 港口"
            autoFocus
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.nativeEvent.isComposing) return;
              if (event.key === "Enter") list.current?.querySelector<HTMLElement>("[data-result]")?.click();
              else if (event.key === "Escape" && text !== "") setText("");
              else move(event, -1);
            }}
            className="h-12 w-full rounded-xl border border-line-strong/60 bg-raised pr-11 pl-10.5 text-base shadow-low outline-offset-0 hover:border-line-strong [&::-webkit-search-cancel-button]:hidden"
          />
          {late && text.trim() !== "" && <span className="absolute top-1/2 right-3.5 flex -translate-y-1/2 text-faint"><Spinner /></span>}
        </div>
      }
    >
      <Said page={shown} query={asked} limit={limit} />
      {asked.trim() === "" ? (
        <EmptyState icon={<Glass />} title="Find anything that was said">
          In every session, on every branch, in any language. Words may stand in any order, and signs count inside them: names of files, of functions, C++.
        </EmptyState>
      ) : found.error && !shown ? (
        <ErrorState error={found.error} retry={() => void found.refetch()} title="The search did not work" />
      ) : shown === null ? (
        <Waiting />
      ) : shown.results.length === 0 ? (
        !late && (
          <EmptyState icon={<Glass />} title="Nothing was found">
            {shown.degraded ? "Not everything could be searched just now; try again in a moment." : "All words must stand in one message. Try fewer, or the beginning of one."}
          </EmptyState>
        )
      ) : (
        <ol ref={list} aria-label="Results" className={cx("-mx-3 transition-opacity", found.isPlaceholderData && "opacity-60")}>
          {shown.results.map((result, i) => (
            <Result key={`${result.session_id} ${result.message_id ?? ""}`} result={result} query={shown.query} onKey={(event) => move(event, i)} />
          ))}
        </ol>
      )}
      {shown && shown.results.length >= limit && limit < most && (
        <div className="flex justify-center pt-4">
          <Button busy={found.isFetching} onClick={() => setLimit(most)}>Show more</Button>
        </div>
      )}
    </Page>
  );
}

/** What is typed, and what is asked: the address follows after a pause, and the field follows the address. */
function useAsked() {
  const [, go] = useLocation();
  const asked = useParams().get("q") ?? "";
  const [text, setText] = useState(asked);
  const said = useRef(asked);
  useEffect(() => {
    if (asked !== said.current) setText(asked);
    said.current = asked;
  }, [asked]);
  useEffect(() => {
    if (text === said.current) return;
    const timer = setTimeout(() => {
      said.current = text;
      go(`/search${query({ q: text })}`, { replace: true });
    }, typingPause);
    return () => clearTimeout(timer);
  }, [text, go]);
  return { text, setText, asked };
}

/** "/" comes back to the field. */
function useFieldKey(field: React.RefObject<HTMLInputElement | null>) {
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open], [role=menu]")) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    };
    addEventListener("keydown", press, { capture: true });
    return () => removeEventListener("keydown", press, { capture: true });
  }, [field]);
}

/** How much was found, and whether that is all. */
function Said({ page, query: asked, limit }: { page: SearchPage | null; query: string; limit: number }) {
  const n = page?.results.length ?? 0;
  return (
    <div className="min-h-6">
      <p role="status" className="text-xs text-faint">
        {page && n > 0 && asked.trim() !== "" && (n >= limit ? `The newest ${n} results` : `${n} ${n === 1 ? "result" : "results"}`)}
      </p>
      {page?.degraded && n > 0 && (
        <p className="mt-2 mb-1 flex gap-2 rounded-xl bg-warn-soft px-3.5 py-2.5 text-sm text-warn">
          <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
          There may be more than these: what was said last is still being read in, or there is more than one search goes through. Another word narrows it.
        </p>
      )}
    </div>
  );
}

const roles: Record<string, string> = { user: "User", assistant: "Assistant", system: "System", developer: "Developer", tool: "Tool" };

function Result({ result, query: asked, onKey }: { result: SearchResult; query: string; onKey: (event: KeyboardEvent) => void }) {
  const [, go] = useLocation();
  const title = result.title.trim() || result.key;
  return (
    <li className="group/result relative border-b border-line/70 last:border-0">
      <Link
        href={sessionAddress(result.session_id, result.message_id)}
        data-result
        onKeyDown={onKey}
        className="block rounded-lg px-3 py-3 pr-12 outline-offset-[-2px] hover:bg-hover/60"
      >
        <span className="flex min-w-0 items-baseline gap-2 text-sm">
          <span className="min-w-0 truncate font-medium"><Marked text={title} query={result.message_id === null ? asked : ""} /></span>
          {result.role === null ? <Badge className="shrink-0">session</Badge> : <span className="shrink-0 text-xs text-faint">{roles[result.role] ?? result.role}</span>}
          <RelativeTime at={result.created_at} className="num ml-auto shrink-0 text-xs text-faint" />
        </span>
        <span className="mt-0.5 line-clamp-2 text-sm break-words text-soft">
          {result.message_id === null ? <Marked text={result.key} query={asked} /> : <Marked text={result.snippet} query={asked} />}
        </span>
      </Link>
      <IconButton
        label="Open the chat"
        size="sm"
        side="left"
        className="absolute top-1/2 right-2.5 -translate-y-1/2 opacity-0 group-focus-within/result:opacity-100 group-hover/result:opacity-100 pointer-coarse:opacity-60"
        onClick={() => go(chatAddress({ id: result.session_id, friendly_id: "" }, result.message_id))}
      >
        <MessageSquare className="size-4" />
      </IconButton>
    </li>
  );
}

const Marked = ({ text, query: asked }: { text: string; query: string }) =>
  highlight(text, asked).map((piece, i) => (piece.hit ? <mark key={i} className="text-ink">{piece.text}</mark> : <span key={i}>{piece.text}</span>));

const Waiting = () => (
  <div aria-busy="true" aria-label="Searching" className="flex flex-col gap-5 pt-2">
    {Array.from({ length: 5 }, (_, i) => <Skeleton key={i} className="h-12" />)}
  </div>
);
