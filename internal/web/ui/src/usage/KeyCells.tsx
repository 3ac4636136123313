import type { UsageRow } from "@/api/types";
import { cx, format, useNow } from "@/ui";
import { budgetOf, limitsOf } from "./limits";

/** What a key has spent in this calendar month, beside its budget where it has one. */
export function SpentCell({ row }: { row: UsageRow }) {
  const budget = budgetOf(row);
  return (
    <td className="w-40 px-3 py-2">
      {row.spent_usd === undefined ? (
        <span className="text-faint">–</span>
      ) : (
        <span title={`$${row.spent_usd} since the first of the month (UTC)`} className={cx(budget?.state === "over" && "font-medium text-bad")}>
          {format.cost(row.spent_usd)}
          {budget && <span className="text-soft"> of {format.cost(budget.usd)}</span>}
        </span>
      )}
      {budget && <Meter share={budget.share} state={budget.state} />}
    </td>
  );
}

const fills = { within: "bg-accent", near: "bg-warn", over: "bg-bad" };
const words = { within: null, near: "nearly spent", over: "spent: refused until the month ends" };

/** How much of a budget is spent, at a glance; the figure above says it exactly. */
function Meter({ share, state }: { share: number; state: keyof typeof fills }) {
  return (
    <>
      <span aria-hidden className="mt-1 flex h-1 overflow-hidden rounded-full bg-hover">
        <span className={cx("rounded-full", fills[state])} style={{ width: `${Math.min(100, 100 * share)}%` }} />
      </span>
      {words[state] && <span className={cx("mt-0.5 block text-xs", state === "over" ? "text-bad" : "text-warn")}>{words[state]}</span>}
    </>
  );
}

/** What a key may, besides its budget. */
export function LimitsCell({ row }: { row: UsageRow }) {
  const now = useNow();
  const limits = limitsOf(row, now);
  return (
    <td className="px-3 py-2 pr-4 text-left">
      {typeof limits === "string" ? (
        <span className="text-faint">{limits}</span>
      ) : (
        <span className="flex flex-col">
          {limits.map(({ text, title, past }) => (
            <span key={text} title={title} className={cx("max-w-64 truncate", past && "text-bad")}>{text}</span>
          ))}
        </span>
      )}
    </td>
  );
}
