import { expect, test } from "vitest";
import type { SeriesPoint } from "@/api/types";
import { costOf, dots, plotsOf, spanOf } from "./series";

const point = (more: Partial<SeriesPoint>): SeriesPoint => ({
  at: "2026-11-30T12:00:00Z", turns: 0, failed: 0, input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cost_usd: 0, priced_usd: 0, unpriced_turns: 0,
  first_byte_p50_ms: null, duration_p50_ms: null, duration_p95_ms: null, ...more,
});

test("an unknown cost is never counted as nothing", () => {
  const priced = point({ turns: 1, cost_usd: 0.25, priced_usd: 0.25 });
  const unpriced = point({ turns: 2, cost_usd: null, unpriced_turns: 2 });
  const partly = point({ turns: 3, cost_usd: null, priced_usd: 0.25, unpriced_turns: 1 });
  expect(costOf([point({}), priced, priced])).toBe("$0.50");
  expect(costOf([point({}), priced, unpriced])).toBe("at least $0.25");
  expect(costOf([partly])).toBe("at least $0.25");
  expect(costOf([point({}), unpriced])).toBe("unknown");
  expect(costOf([point({})])).toBe("$0");
});

test("a plot of costs that are all unknown says so", () => {
  const missing = (of: SeriesPoint) => plotsOf({ span: "1h", from: "", to: "", step_seconds: 60, points: [of] })[2]!.missing;
  expect(missing(point({ turns: 1, cost_usd: null, unpriced_turns: 1 }))).toMatch(/No price/);
  expect(missing(point({ turns: 2, cost_usd: null, priced_usd: 0.1, unpriced_turns: 1 }))).toBeUndefined();
});

test("a span that there is none of is the day", () => {
  expect([null, "", "7d", "8d", "1h"].map(spanOf)).toEqual(["24h", "24h", "7d", "24h", "1h"]);
});

test("what no line reaches is drawn as a point, and all where most is missing", () => {
  expect(dots([1, 2, null, 3, null, 4, 5, 6, 7, 8])).toEqual([3]);
  expect(dots([1, null, 2, 3, null, null, 4])).toEqual([0, 2, 3, 6]);
  expect(dots([5])).toEqual([0]);
  expect(dots([null, null])).toEqual([]);
});

test("counts are summed, times are the latest known", () => {
  const points = [point({ turns: 2, failed: 1, duration_p50_ms: 900 }), point({ turns: 3, duration_p50_ms: 1200 }), point({})];
  const plots = plotsOf({ span: "1h", from: "", to: "", step_seconds: 60, points });
  expect(plots[0]!.lines.map((line) => line.whole)).toEqual(["5", "1"]);
  expect(plots[3]!.lines[0]!.whole).toBe("1.2 s");
});
