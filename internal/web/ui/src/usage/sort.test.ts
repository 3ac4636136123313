import { expect, test } from "vitest";
import type { UsageRow } from "@/api/types";
import { sorted } from "./sort";

const row = (name: string, turns: number, cost_usd: number | null): UsageRow => ({
  name, turns, failed: 0, unpriced_turns: 0,
  usage: { input_tokens: null, output_tokens: null, cache_read_tokens: null, cache_write_tokens: null, cost_usd },
});
const rows = [row("b", 1, null), row("a", 3, 0.5), row("c", 2, 2)];
const names = (list: UsageRow[]) => list.map(({ name }) => name).join("");

test("an unknown cost stands last in both orders", () => {
  expect(names(sorted(rows, { column: "cost", descending: true }))).toBe("cab");
  expect(names(sorted(rows, { column: "cost", descending: false }))).toBe("acb");
});

test("names and counts", () => {
  expect(names(sorted(rows, { column: "name", descending: false }))).toBe("abc");
  expect(names(sorted(rows, { column: "turns", descending: true }))).toBe("acb");
});
