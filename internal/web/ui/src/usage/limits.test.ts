import { describe, expect, test } from "vitest";
import type { KeyLimits, UsageRow } from "@/api/types";
import { budgetOf, limitsOf } from "./limits";

const usage = { input_tokens: 1, output_tokens: 1, cache_read_tokens: null, cache_write_tokens: null, cost_usd: 1 };
const row = (more: Partial<UsageRow>): UsageRow => ({ name: "alice", turns: 1, failed: 0, usage, unpriced_turns: 0, ...more });
const now = new Date(2026, 10, 30, 12);

describe("budgetOf", () => {
  test.each<[number, number | undefined, string | undefined]>([
    [1, 10, "within"], [7.99, 10, "within"], [8, 10, "near"], [10, 10, "over"], [12, 10, "over"], [5, undefined, undefined],
  ])("%d of %s is %s", (spent, budget, want) => {
    const limits: KeyLimits = budget === undefined ? {} : { budget_usd: budget };
    expect(budgetOf(row({ limits, spent_usd: spent }))?.state).toBe(want);
  });

  test("of a key that the reader may not know about nothing is said", () => expect(budgetOf(row({}))).toBeNull());
});

describe("limitsOf", () => {
  const texts = (more: Partial<UsageRow>) => {
    const limits = limitsOf(row(more), now);
    return typeof limits === "string" ? limits : limits.map((limit) => limit.text);
  };

  test("each limit in words", () => {
    const limits = { requests_per_minute: 60, streams: 4, budget_usd: 5, models: ["gpt-*", "fake"], expires: new Date(2027, 0, 5).toISOString() };
    expect(texts({ limits, spent_usd: 1 })).toEqual(["60 requests a minute, 4 at once", "gpt-*, fake", expect.stringMatching(/^until .*2027/)]);
  });

  test("an end that is near, and one that is past", () => {
    expect(texts({ limits: { expires: new Date(2026, 10, 30, 20).toISOString() }, spent_usd: 0 })).toEqual(["expires today"]);
    expect(texts({ limits: { expires: new Date(2026, 10, 30, 11).toISOString() }, spent_usd: 0 })).toEqual(["expired"]);
  });

  test.each<[string, Partial<UsageRow>, string | string[]]>([
    ["no limit", { limits: {}, spent_usd: 0 }, "none"],
    ["a budget, which stands elsewhere", { limits: { budget_usd: 5 }, spent_usd: 0 }, "the budget alone"],
    ["a key that is gone", { spent_usd: 2 }, "not configured any more"],
    ["somebody else's", {}, "–"],
    ["no key", { name: null }, "–"],
  ])("%s", (_, more, want) => expect(texts(more)).toEqual(want));
});
