import { expect, test } from "vitest";
import type { SessionTree, Turn } from "@/api/types";
import type { Session } from "@/api/types";
import { flatten, parentOf } from "../rows";
import { barOf, lasted, scaleOf, waited } from "./bars";
import { place } from "./branch";
import { linesOf } from "./Tree";

const turn = (started: string, first: string | null, ended: string | null) =>
  ({ started_at: started, first_byte_at: first, ended_at: ended, duration_ms: ended === null ? null : Date.parse(ended) - Date.parse(started) }) as Turn;

test("bars are parts of the longest turn, the wait before the answer", () => {
  const long = turn("2026-11-30T10:00:00Z", "2026-11-30T10:00:01Z", "2026-11-30T10:00:04Z");
  const runs = turn("2026-11-30T10:00:02Z", null, null);
  const now = Date.parse("2026-11-30T10:00:03Z");
  const scale = scaleOf([long, runs], now);
  expect(scale).toBe(4000);
  expect(barOf(long, scale, now)).toEqual({ wait: 0.25, answer: 0.75, ms: 4000, waitMs: 1000 });
  expect(barOf(runs, scale, now)).toEqual({ wait: 0.25, answer: 0, ms: 1000, waitMs: null });
  expect([lasted(runs, now), waited(runs)]).toEqual([1000, null]);
  expect(scaleOf([turn("2026-11-30T10:00:00Z", null, "2026-11-30T10:00:00.010Z")], now)).toBe(1000);
});

test("a clock that is behind makes no bar of less than nothing", () => {
  const runs = turn("2026-11-30T10:00:02Z", null, null);
  expect(lasted(runs, Date.parse("2026-11-30T10:00:00Z"))).toBe(0);
});

test("a message's place among its versions", () => {
  expect(place({ id: "b", branch_count: 1 })).toBeNull();
  expect(place({ id: "b", branch_count: 3, siblings: ["a", "b", "c"] })).toEqual({ at: 2, of: 3, before: "a", after: "c" });
  expect(place({ id: "b", branch_count: 2 })).toEqual({ at: null, of: 2, before: null, after: null });
});

const node = (id: string, children: SessionTree[] = []) => ({ id, children }) as SessionTree;

test("a tree's lines stand below their parents, in order", () => {
  const lines = linesOf(node("r", [node("a", [node("a1")]), node("b")]));
  expect(lines.map((line) => `${line.level}${line.session.id}`)).toEqual(["0r", "1a", "2a1", "1b"]);
});

test("the deepest tree is no danger to the stack", () => {
  let top = node("leaf");
  for (let i = 0; i < 20_000; i++) top = node(`n${i}`, [top]);
  expect(linesOf(top)).toHaveLength(20_001);
});

const usage = { input_tokens: 1, output_tokens: null, cache_read_tokens: null, cache_write_tokens: null, cost_usd: null };
const session = (id: string, tree = usage) => ({ id, usage, tree_usage: tree }) as Session;

test("opened rows are followed by what is below them, deleted ones are not there", () => {
  const a = session("a", { ...usage, input_tokens: 5 });
  const below = new Map([["a", { children: [session("x"), session("y")], more: true, error: null }], ["x", { children: null, more: false, error: null }]]);
  const rows = flatten({ rows: [a, session("b"), session("c")], below, parents: new Set(["c"]) }, new Set(["b", "y"]));
  expect(rows.map((row) => `${row.level} ${row.key} ${row.kind === "note" ? row.note : row.opens}`)).toEqual([
    "1 a true", "2 a/x true", "3 a/x/note loading", "2 a/note more", "1 c true",
  ]);
  expect([parentOf(rows, 2), parentOf(rows, 3), parentOf(rows, 0)]).toEqual([1, 0, -1]);
});

test("a ring of parents ends", () => {
  const below = new Map([["a", { children: [session("a")], more: false, error: null }]]);
  expect(flatten({ rows: [session("a")], below, parents: new Set() }, new Set()).length).toBeLessThan(20);
});
