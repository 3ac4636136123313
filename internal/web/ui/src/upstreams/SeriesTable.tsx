import { useState } from "react";
import type { Series } from "@/api/types";
import { format } from "@/ui";
import { stepOf } from "./series";

/** The figures of the charts for those who would rather read than look. Steps without a request are left out. */
export function SeriesTable({ series }: { series: Series }) {
  const [open, setOpen] = useState(false);
  const busy = open ? series.points.filter((point) => point.turns > 0).reverse() : [];
  return (
    <details className="mt-4 rounded-xl border border-line" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="rounded-xl px-4 py-2.5 text-sm text-soft hover:text-ink">The same as a table</summary>
      {open && (
        <div tabIndex={0} role="region" aria-label="Figures over time" className="max-h-96 overflow-auto border-t border-line">
          <table className="num w-full text-right text-sm whitespace-nowrap">
            <thead className="sticky top-0 bg-page text-xs text-faint">
              <tr>
                {["Time", "Requests", "Failed", "Input", "Output", "Cache reads", "Cost", "First byte", "Half within", "95 % within"].map((name) => (
                  <th key={name} scope="col" className="px-3 py-2 font-medium first:pl-4 first:text-left last:pr-4">{name}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {busy.map((point) => (
                <tr key={point.at} className="border-t border-line">
                  <th scope="row" className="py-1.5 pr-3 pl-4 text-left font-normal">{stepOf(point, series.step_seconds)}</th>
                  {[
                    format.number(point.turns), format.number(point.failed), format.number(point.input_tokens), format.number(point.output_tokens),
                    format.number(point.cache_read_tokens), format.cost(point.cost_usd), format.duration(point.first_byte_p50_ms),
                    format.duration(point.duration_p50_ms), format.duration(point.duration_p95_ms),
                  ].map((text, column) => (
                    <td key={column} className="px-3 py-1.5 last:pr-4">{text}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
