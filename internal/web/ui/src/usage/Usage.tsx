import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Download, ReceiptText } from "lucide-react";
import { useSearchParams } from "wouter";
import { api, query } from "@/api/client";
import { useMe } from "@/api/hooks";
import { keys } from "@/api/keys";
import type { Stats, UsageReport } from "@/api/types";
import { Page } from "@/app/Page";
import { cx, EmptyState, ErrorState, Segments, Select, useNow } from "@/ui";
import { moments, presets, rangeOf } from "./range";
import { Rows } from "./Rows";
import { Totals } from "./Totals";

type By = UsageReport["by"];

const groups: { value: By; label: string }[] = [
  { value: "model", label: "Model" },
  { value: "day", label: "Day" },
  { value: "key", label: "Key" },
  { value: "upstream", label: "Upstream" },
];

const byOf = (text: string | null): By => groups.find((group) => group.value === text)?.value ?? "model";

/** What was used, and what it cost. The range and the grouping stand in the address. */
export default function Usage() {
  const [params, setParams] = useSearchParams();
  const now = useNow();
  const me = useMe();
  const by = byOf(params.get("by"));
  const range = rangeOf(params.get("from"), params.get("to"), now);
  const set = (values: Record<string, string>) => setParams((before) => new URLSearchParams({ ...Object.fromEntries(before), ...values }), { replace: true });
  const asked = { ...moments(range), by };
  const report = useQuery({
    queryKey: keys.usage(asked),
    queryFn: ({ signal }) => api<UsageReport>(`/api/usage${query(asked)}`, { signal }),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });
  const stats = useQuery({ queryKey: keys.stats, queryFn: ({ signal }) => api<Stats>("/api/stats", { signal }), staleTime: 300_000 });
  const date = stats.data?.prices?.date;
  const ready = presets(now);
  const chosen = ready.find((preset) => preset.from === range.from && preset.to === range.to);

  return (
    <Page
      title="Usage"
      actions={
        <a
          href={`/api/usage${query({ ...asked, format: "csv" })}`}
          download={`usage-by-${by}-${range.from}-${range.to}.csv`}
          className="inline-flex h-9 pointer-coarse:h-10 items-center gap-1.5 rounded-lg border border-line bg-raised px-3.5 text-sm font-medium shadow-low transition-colors hover:bg-hover"
        >
          <Download aria-hidden className="size-4" /> CSV
        </a>
      }
      toolbar={
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <Segments label="Grouped by" value={by} options={groups} onChange={(value) => set({ by: value })} />
          <div className="flex flex-wrap items-center gap-2">
            <Select
              aria-label="Period"
              value={chosen?.label ?? ""}
              onChange={(event) => {
                const preset = ready.find((one) => one.label === event.target.value);
                if (preset) set({ from: preset.from, to: preset.to });
              }}
            >
              {!chosen && <option value="">Chosen days</option>}
              {ready.map(({ label }) => <option key={label}>{label}</option>)}
            </Select>
            <div className="flex items-center gap-1.5">
              <Day label="First day" value={range.from} onChange={(from) => set({ from, to: range.to < from ? from : range.to })} />
              <span aria-hidden className="text-faint">–</span>
              <Day label="Last day" value={range.to} onChange={(to) => set({ to, from: range.from > to ? to : range.from })} />
            </div>
          </div>
        </div>
      }
    >
      {report.data ? (
        <div className={cx("transition-opacity", report.isPlaceholderData && "opacity-50")}>
          <Totals report={report.data} />
          {report.data.rows.length > 0 ? (
            <Rows key={report.data.by} report={report.data} />
          ) : (
            <div className="mt-4 rounded-xl border border-dashed border-line">
              <EmptyState icon={<ReceiptText />} title="Nothing was used in these days">
                Every request that goes through Mooring is counted here, whichever client sent it.
              </EmptyState>
            </div>
          )}
          <p className="mt-4 max-w-prose text-xs text-pretty text-faint">
            {me.data?.role === "operator" && me.data.keys && "All tenants together. "}
            Days are counted in UTC. Costs are in US dollars
            {date ? `, by the list prices of ${date} and what the configuration says under ` : ", by the list prices and what the configuration says under "}
            <code>prices</code>. A model in neither has an unknown cost.
          </p>
        </div>
      ) : report.isError ? (
        <ErrorState error={report.error} retry={() => void report.refetch()} />
      ) : (
        <div className="grid gap-4">
          <div className="animate-soft h-20 rounded-xl border border-line bg-raised" />
          <div className="animate-soft h-64 rounded-xl border border-line bg-raised" />
        </div>
      )}
    </Page>
  );
}

function Day({ label, value, onChange }: { label: string; value: string; onChange: (day: string) => void }) {
  return (
    <input
      type="date"
      aria-label={label}
      value={value}
      onChange={(event) => event.target.value !== "" && onChange(event.target.value)}
      className="num h-9 pointer-coarse:h-10 rounded-lg border border-line-strong/60 bg-raised px-2 text-sm hover:border-line-strong"
    />
  );
}
