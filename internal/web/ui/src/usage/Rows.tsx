import { ArrowDown, ArrowUp } from "lucide-react";
import { useState, type ReactNode } from "react";
import type { UsageReport, UsageRow } from "@/api/types";
import { cx, format } from "@/ui";
import { LimitsCell, SpentCell } from "./KeyCells";
import { sorted, type Column, type Order } from "./sort";

const titles: Record<UsageReport["by"], string> = { model: "Model", day: "Day", key: "Key", upstream: "Upstream" };

const nameless: Record<UsageReport["by"], string> = { model: "no model named", day: "–", key: "without a key", upstream: "no upstream asked" };

const columns: { id: Column; label: string }[] = [
  { id: "cost", label: "Cost" },
  { id: "turns", label: "Turns" },
  { id: "failed", label: "Failed" },
  { id: "input", label: "Input" },
  { id: "output", label: "Output" },
  { id: "read", label: "Cache reads" },
  { id: "write", label: "Cache writes" },
];

/** Where the reader may know of the keys what they may: what a budget is about stands beside the cost. */
const ofKeys: typeof columns = columns.toSpliced(1, 0, { id: "spent", label: "This month" });

/** The report's rows, in the order that its reader wants. */
export function Rows({ report }: { report: UsageReport }) {
  const [order, setOrder] = useState<Order>(report.by === "day" ? { column: "name", descending: true } : { column: "cost", descending: true });
  const sort = (column: Column) =>
    setOrder({ column, descending: order.column === column ? !order.descending : column !== "name" });
  const rows = sorted(report.rows, order);
  const withKeys = report.rows.some((row) => row.spent_usd !== undefined);
  const most = Math.max(...rows.map((row) => row.usage.cost_usd ?? 0));
  return (
    <div tabIndex={0} role="region" aria-label="Usage" className="mt-4 overflow-x-auto rounded-xl border border-line bg-raised">
      <table className="num w-full text-right text-sm whitespace-nowrap">
        <thead className="text-xs text-faint">
          <tr>
            <Heading id="name" label={titles[report.by]} order={order} onSort={sort} />
            {(withKeys ? ofKeys : columns).map(({ id, label }) => <Heading key={id} id={id} label={label} order={order} onSort={sort} />)}
            {withKeys && <th scope="col" className="px-3 py-1 text-left font-medium">Limits</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name ?? ""} className="border-t border-line hover:bg-hover/50">
              <th scope="row" className="sticky left-0 max-w-72 truncate bg-raised py-2 pr-3 pl-4 text-left font-medium max-sm:max-w-36" title={row.name ?? undefined}>
                <RowName row={row} by={report.by} />
              </th>
              <td className="w-40 px-3 py-2">
                <RowCost row={row} />
                <Share of={row.usage.cost_usd} most={most} />
              </td>
              {withKeys && <SpentCell row={row} />}
              <Figures row={row} />
              {withKeys && <LimitsCell row={row} />}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Heading({ id, label, order, onSort }: { id: Column; label: string; order: Order; onSort: (id: Column) => void }) {
  const here = order.column === id;
  const Arrow = order.descending ? ArrowDown : ArrowUp;
  return (
    <th
      scope="col"
      aria-sort={here ? (order.descending ? "descending" : "ascending") : "none"}
      className={cx("px-1.5 py-1 font-medium", id === "name" && "sticky left-0 bg-raised pl-2.5 text-left", "last:pr-2.5")}
    >
      <button type="button" onClick={() => onSort(id)} className={cx("inline-flex h-8 pointer-coarse:h-10 items-center gap-1 rounded-md px-1.5 hover:text-ink", here && "text-ink")}>
        {label}
        {here && <Arrow aria-hidden className="size-3" />}
      </button>
    </th>
  );
}

function RowName({ row, by }: { row: UsageRow; by: UsageReport["by"] }): ReactNode {
  if (row.name === null) return <span className="font-normal text-soft">{nameless[by]}</span>;
  if (by !== "day") return row.name;
  const when = new Date(`${row.name}T12:00:00`); // noon, so that no zone moves the day
  const year = when.getFullYear() === new Date().getFullYear() ? {} : ({ year: "numeric" } as const);
  return when.toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short", ...year });
}

function Figures({ row }: { row: UsageRow }) {
  const { usage } = row;
  return (
    <>
      <td className="px-3 py-2">{format.number(row.turns)}</td>
      <td className={cx("px-3 py-2", row.failed > 0 ? "text-bad" : "text-faint")}>{format.number(row.failed)}</td>
      {[usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens].map((count, n) => (
        <td key={n} className="px-3 py-2 last:pr-4" title={count === null ? "Not told by the upstream" : format.number(count)}>{format.tokens(count)}</td>
      ))}
    </>
  );
}

function RowCost({ row }: { row: UsageRow }) {
  const known = row.usage.cost_usd !== null;
  const missing = row.unpriced_turns > 0 ? `${format.number(row.unpriced_turns)} of ${format.number(row.turns)} turns have no price` : undefined;
  return (
    <span className={cx(!known && "text-soft")} title={missing ?? (known ? `$${row.usage.cost_usd}` : "A price is not known")}>
      {known && missing && "at least "}
      {format.cost(row.usage.cost_usd)}
    </span>
  );
}

/** How the costs compare at a glance; the figure above says it exactly. */
function Share({ of, most }: { of: number | null; most: number }) {
  return (
    <span aria-hidden className="mt-1 flex h-1 justify-end">
      {of !== null && most > 0 && <span className="rounded-full bg-accent" style={{ width: `${Math.max(1, (100 * of) / most)}%` }} />}
    </span>
  );
}
