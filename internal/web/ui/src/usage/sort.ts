import type { UsageRow } from "@/api/types";

export type Column = "name" | "turns" | "failed" | "input" | "output" | "read" | "write" | "cost" | "spent";

/** What a column holds; null is not known. */
export const valueOf: Record<Column, (row: UsageRow) => string | number | null> = {
  name: (row) => row.name,
  turns: (row) => row.turns,
  failed: (row) => row.failed,
  input: (row) => row.usage.input_tokens,
  output: (row) => row.usage.output_tokens,
  read: (row) => row.usage.cache_read_tokens,
  write: (row) => row.usage.cache_write_tokens,
  cost: (row) => row.usage.cost_usd,
  spent: (row) => row.spent_usd ?? null,
};

export interface Order {
  column: Column;
  descending: boolean;
}

/** The rows in an order; what is not known stands last either way, for it is neither much nor little. */
export function sorted(rows: UsageRow[], { column, descending }: Order): UsageRow[] {
  const value = valueOf[column];
  const sign = descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * (typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y);
  });
}
