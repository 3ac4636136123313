import { useInfiniteQuery } from "@tanstack/react-query";
import { ChevronRight, History } from "lucide-react";
import { useEffect, useId, useMemo, useState } from "react";
import { api, query, sessionPath } from "@/api/client";
import { keys } from "@/api/keys";
import type { Session, Turn, TurnPage } from "@/api/types";
import { Badge, Button, cx, EmptyState, ErrorState, format, RelativeTime, Skeleton, StateBadge, Tokens, Unprinted } from "@/ui";
import { barOf, scaleOf, type Bar } from "./bars";
import { Price } from "../Price";
import { TurnDetail } from "./TurnDetail";

const pageSize = 100;

/** The session's turns, the newest first: what each asked for, how long it took, what it used. */
export function Timeline({ session }: { session: Session }) {
  const turns = useTurnPages(session.id);
  const running = turns.list.some((turn) => turn.state === "running");
  const now = useSeconds(running);
  const scale = scaleOf(turns.list, now);
  if (turns.error && turns.list.length === 0) return <ErrorState error={turns.error} retry={() => void turns.refetch()} />;
  if (turns.isPending) return <Waiting />;
  if (turns.list.length === 0) {
    return (
      <EmptyState icon={<History />} title="No turn yet">
        {session.relation === "fork" ? "This fork holds copied messages; its first own turn will be listed here." : "A request that reaches this session is a turn of it."}
      </EmptyState>
    );
  }
  return (
    <section aria-label="Turns">
      <div aria-hidden className={cx(line, "h-8 px-3 text-xs text-faint max-md:hidden")}>
        <span />
        <span>State</span>
        <span>Model</span>
        <span className="flex items-center justify-between gap-2">
          <Legend /> <span className="num">up to {format.duration(scale)}</span>
        </span>
        <span className="text-right">Input</span>
        <span className="text-right">Cached</span>
        <span className="text-right">Output</span>
        <span className="text-right">Cost</span>
        <span className="text-right">Began</span>
      </div>
      <ol className="border-y border-line">
        {turns.list.map((turn) => (
          <TurnRow key={turn.id} turn={turn} bar={barOf(turn, scale, now)} />
        ))}
      </ol>
      {turns.hasNextPage && (
        <div className="flex justify-center pt-4">
          <Button busy={turns.isFetchingNextPage} onClick={() => void turns.fetchNextPage()}>Show earlier turns</Button>
          <Unprinted>These are the latest {turns.list.length} turns. Those before them are on paper too when they were shown.</Unprinted>
        </div>
      )}
    </section>
  );
}

function useTurnPages(id: string) {
  const result = useInfiniteQuery({
    queryKey: [...keys.turns(id), "pages"],
    queryFn: ({ pageParam, signal }) => api<TurnPage>(`${sessionPath(id)}/turns${query({ limit: pageSize, before: pageParam })}`, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
  const list = useMemo(() => result.data?.pages.flatMap((page) => page.turns.toReversed()) ?? [], [result.data]);
  return { ...result, list };
}

/** The time, each second while something runs. */
function useSeconds(running: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    setNow(Date.now());
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}

const line = "grid items-center gap-x-4 md:grid-cols-[1rem_7rem_minmax(0,11rem)_minmax(6rem,1fr)_3.5rem_3.5rem_3.5rem_4.5rem_4.5rem]";

function TurnRow({ turn, bar }: { turn: Turn; bar: Bar }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <li className="border-b border-line/70 [contain-intrinsic-size:auto_44px] [content-visibility:auto] last:border-0">
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className={cx("prints w-full px-3 text-left text-sm outline-offset-[-2px] hover:bg-hover/60", open && "bg-hover/40")}
      >
        <span className={cx(line, "min-h-11 max-md:hidden")}>
          <ChevronRight aria-hidden className={cx("size-4 text-faint transition-transform", open && "rotate-90")} />
          <StateBadge state={turn.state} />
          <Asked turn={turn} />
          <Course bar={bar} turn={turn} />
          <Figure n={turn.usage.input_tokens} word="input" />
          <Figure n={turn.usage.cache_read_tokens} word="read from cache" />
          <Figure n={turn.usage.output_tokens} word="output" />
          <span className="num text-right text-soft"><TurnPrice turn={turn} /></span>
          <RelativeTime at={turn.started_at} className="num truncate text-right text-soft" />
        </span>
        <span className="flex flex-col gap-1.5 py-2.5 md:hidden">
          <span className="flex items-center gap-2">
            <StateBadge state={turn.state} />
            <span className="min-w-0 flex-1"><Asked turn={turn} /></span>
            <RelativeTime at={turn.started_at} className="num shrink-0 text-xs text-faint" />
          </span>
          <Course bar={bar} turn={turn} />
          <span className="num flex gap-x-3 text-xs text-soft">
            <span><Tokens count={turn.usage.input_tokens} /> in</span>
            <span><Tokens count={turn.usage.cache_read_tokens} /> cached</span>
            <span><Tokens count={turn.usage.output_tokens} /> out</span>
            <TurnPrice turn={turn} alone />
          </span>
        </span>
      </button>
      <div id={id} hidden={!open}>{open && <TurnDetail turn={turn} />}</div>
    </li>
  );
}

const Asked = ({ turn }: { turn: Turn }) => (
  <span className="flex min-w-0 items-center gap-1.5">
    <span className="min-w-0 truncate" title={turn.model ?? undefined}>{turn.model ?? <span className="text-faint">no model</span>}</span>
    {turn.kind !== "main" && <Badge className="shrink-0">{turn.kind}</Badge>}
    {turn.attempts.length > 1 && <Badge tone="warn" className="shrink-0">{turn.attempts.length} attempts</Badge>}
  </span>
);

const Figure = ({ n, word }: { n: number | null; word: string }) => (
  <span className="num text-right text-soft">
    <Tokens count={n} />
    <span className="sr-only"> tokens {word}</span>
  </span>
);

/** What a turn cost; one that runs has not cost anything yet that is known. */
const TurnPrice = ({ turn, alone }: { turn: Turn; alone?: boolean }) =>
  turn.state === "running" ? <span className="text-faint">–</span> : <Price use={{ ...turn.usage, cost_usd: turn.cost_usd }} alone={alone ?? false} />;

/** The wait for the first byte, then the answer; both on the scale of all turns, and in words beside it. */
function Course({ bar, turn }: { bar: Bar; turn: Turn }) {
  const broken = turn.state === "failed" || turn.state === "interrupted";
  const percent = (part: number) => `${(part * 100).toFixed(2)}%`;
  const words = bar.waitMs === null ? format.duration(bar.ms) : `first byte after ${format.duration(bar.waitMs)}, ${format.duration(bar.ms)} in all`;
  return (
    <span className="flex min-w-0 items-center gap-2.5" title={words}>
      <span aria-hidden className="flex h-2 min-w-0 flex-1 overflow-hidden rounded-full bg-sunken">
        <span className={cx("shrink-0", broken && bar.answer === 0 ? "bg-bad/60" : "bg-accent/35", turn.state === "running" && "animate-soft")} style={{ width: percent(bar.wait) }} />
        {bar.answer > 0 && (
          <span
            className={cx("min-w-0.5 shrink-0", broken ? "bg-bad" : "bg-accent", turn.state === "running" && "animate-soft")}
            style={{ width: percent(bar.answer) }}
          />
        )}
      </span>
      <span className="num w-14 shrink-0 text-right text-xs text-soft">
        <span className="sr-only">{words}</span>
        <span aria-hidden>{format.duration(bar.ms)}</span>
      </span>
    </span>
  );
}

const Legend = () => (
  <span className="flex items-center gap-3">
    <span className="flex items-center gap-1.5"><span className="h-2 w-3 rounded-full bg-accent/35" /> wait</span>
    <span className="flex items-center gap-1.5"><span className="h-2 w-3 rounded-full bg-accent" /> answer</span>
  </span>
);

const Waiting = () => (
  <div aria-busy="true" aria-label="Loading" className="flex flex-col gap-2">
    {Array.from({ length: 4 }, (_, i) => <Skeleton key={i} className="h-10" />)}
  </div>
);
