import { expect, test } from "vitest";
import { moments, presets, rangeOf } from "./range";

const now = new Date("2026-03-01T12:00:00Z");

test("presets", () => {
  expect(Object.fromEntries(presets(now).map(({ label, from, to }) => [label, `${from} ${to}`]))).toEqual({
    "Last 30 days": "2026-01-31 2026-03-01",
    "Last 7 days": "2026-02-23 2026-03-01",
    Today: "2026-03-01 2026-03-01",
    "This month": "2026-03-01 2026-03-01",
    "Last month": "2026-02-01 2026-02-28",
  });
});

test("an address that asks for nonsense gets something sensible", () => {
  const ask = (from: string | null, to: string | null) => {
    const range = rangeOf(from, to, now);
    return `${range.from} ${range.to}`;
  };
  expect(ask(null, null)).toBe("2026-01-31 2026-03-01");
  expect(ask("2026-02-10", "2026-02-12")).toBe("2026-02-10 2026-02-12");
  expect(ask("2026-02-30", "x")).toBe("2026-01-31 2026-03-01");
  expect(ask("2026-02-12", "2026-02-10")).toBe("2026-02-12 2026-02-12");
  expect(ask(null, "2025-05-05")).toBe("2025-05-05 2025-05-05");
});

test("the last day is part of the range", () => {
  expect(moments({ from: "2026-02-28", to: "2026-02-28" })).toEqual({ from: "2026-02-28T00:00:00Z", to: "2026-03-01T00:00:00Z" });
});
