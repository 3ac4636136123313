import type { ReactNode } from "react";
import type { UsageReport } from "@/api/types";
import { format } from "@/ui";

/** The figures of the whole range, the one that people come for first. */
export function Totals({ report }: { report: UsageReport }) {
  const { total } = report;
  const { usage } = total;
  return (
    <dl className="num grid grid-cols-2 overflow-hidden rounded-xl border border-line bg-line gap-px sm:grid-cols-3 lg:grid-cols-6">
      <Total label="Cost" note={total.unpriced_turns > 0 ? `${format.number(total.unpriced_turns)} of ${format.number(total.turns)} turns have no price` : undefined}>
        <Cost report={report} />
      </Total>
      <Total label="Turns" note={total.failed > 0 ? `${format.number(total.failed)} failed` : undefined}>{format.number(total.turns)}</Total>
      <Total label="Input tokens">{format.tokens(usage.input_tokens)}</Total>
      <Total label="Output tokens">{format.tokens(usage.output_tokens)}</Total>
      <Total label="Cache reads">{format.tokens(usage.cache_read_tokens)}</Total>
      <Total label="Cache writes">{format.tokens(usage.cache_write_tokens)}</Total>
    </dl>
  );
}

/** Where a part has no price, what is known is the least that it can have cost. */
function Cost({ report: { rows, total } }: { report: UsageReport }) {
  const known = total.usage.cost_usd ?? rows.reduce((all, row) => all + (row.usage.cost_usd ?? 0), 0);
  if (total.usage.cost_usd === null && known === 0) return format.cost(null);
  const least = total.usage.cost_usd === null || total.unpriced_turns > 0;
  return (
    <>
      {least && <span className="text-sm font-normal text-soft">at least </span>}
      {format.cost(known)}
    </>
  );
}

function Total({ label, note, children }: { label: string; note?: string | undefined; children: ReactNode }) {
  return (
    <div className="bg-raised px-4 py-3">
      <dt className="text-xs text-faint">{label}</dt>
      <dd className="mt-0.5 text-xl font-semibold tracking-tight">{children}</dd>
      {note && <dd className="mt-0.5 text-xs text-pretty text-soft">{note}</dd>}
    </div>
  );
}
