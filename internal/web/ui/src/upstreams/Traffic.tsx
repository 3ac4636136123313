import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChartLine } from "lucide-react";
import { lazy, Suspense, useEffect } from "react";
import { useSearchParams } from "wouter";
import { api, query } from "@/api/client";
import { keys } from "@/api/keys";
import { onChange } from "@/api/live";
import type { Series } from "@/api/types";
import { cx, EmptyState, ErrorState, Segments, Select } from "@/ui";
import { spanOf, spans, type Span } from "./series";

const Charts = lazy(() => import("./Charts"));

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** How often the figures are read again while nothing is heard of turns. */
const pace: Record<Span, number> = { "1h": 15_000, "24h": 60_000, "7d": 300_000, "30d": 300_000 };

/** A finished turn changes the figures; on a busy server they are read again no oftener than this. */
const pause = 5_000;

/** Figures over time, of all upstreams or one. What is shown stands in the address. */
export function Traffic({ names, all }: { names: string[]; all: boolean }) {
  const [params, setParams] = useSearchParams();
  const span = spanOf(params.get("span"));
  const upstream = params.get("upstream") ?? "";
  const set = (name: string, value: string) =>
    setParams(
      (now) => {
        if (value === "") now.delete(name);
        else now.set(name, value);
        return now;
      },
      { replace: true },
    );
  return (
    <section aria-labelledby="traffic">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 pt-8 pb-3">
        <div>
          <h2 id="traffic" className="text-base font-semibold tracking-tight">{all ? "Traffic" : "Your traffic"}</h2>
          <p className="text-xs text-faint">Times in {zone}</p>
        </div>
        <div className="flex flex-wrap items-center gap-2">
          {(names.length > 1 || upstream !== "") && (
            <Select aria-label="Upstream" value={upstream} onChange={(event) => set("upstream", event.target.value)} className="max-w-48">
              <option value="">All upstreams</option>
              {[...new Set([...names, upstream])].filter(Boolean).map((name) => <option key={name}>{name}</option>)}
            </Select>
          )}
          <Segments label="Time span" value={span} options={spans} onChange={(value) => set("span", value === "24h" ? "" : value)} />
        </div>
      </div>
      <Body span={span} upstream={upstream} />
    </section>
  );
}

function Body({ span, upstream }: { span: Span; upstream: string }) {
  const client = useQueryClient();
  const series = useQuery({
    queryKey: keys.series({ span, upstream }),
    queryFn: ({ signal }) => api<Series>(`/api/series${query({ span, upstream })}`, { signal }),
    refetchInterval: pace[span],
    placeholderData: keepPreviousData,
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onChange((change) => {
      if (change.event !== "turn.finished") return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey: ["series"] });
        void client.invalidateQueries({ queryKey: keys.upstreams });
      }, pause);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [client]);

  if (series.isError && !series.data) return <ErrorState error={series.error} retry={() => void series.refetch()} />;
  if (!series.data) return <Waiting />;
  const words = spans.find((one) => one.value === series.data.span)?.words ?? "";
  if (series.data.points.every((point) => point.turns === 0)) {
    return (
      <div className="rounded-xl border border-dashed border-line">
        <EmptyState icon={<ChartLine />} title={`No request in the ${words}`}>
          {upstream === "" ? "The charts begin with the first one." : `None went to ${upstream}.`}
        </EmptyState>
      </div>
    );
  }
  return (
    <div className={cx("transition-opacity", series.isPlaceholderData && "opacity-50")}>
      <Suspense fallback={<Waiting />}>
        <Charts series={series.data} />
      </Suspense>
    </div>
  );
}

function Waiting() {
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      {[0, 1, 2, 3].map((n) => <div key={n} className="animate-soft h-[16.4rem] rounded-xl border border-line bg-raised" />)}
    </div>
  );
}
