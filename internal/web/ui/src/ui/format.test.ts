import { expect, test } from "vitest";
import { ago, cost, duration, tokens } from "./format";

test("tokens", () => {
  expect([null, 0, 950, 1000, 12_345, 99_960, 123_456, 999_960, 4_560_000, 1_200_000_000].map(tokens)).toEqual(
    ["–", "0", "950", "1k", "12.3k", "100k", "123k", "1M", "4.56M", "1.2B"]);
});

test("an unknown cost is said to be unknown", () => {
  expect([null, 0, 0.00001, 0.0023, 0.05, 0.1, 12.4, 1234.5].map(cost)).toEqual(
    ["unknown", "$0", "<$0.0001", "$0.0023", "$0.05", "$0.10", "$12.40", `$${new Intl.NumberFormat().format(1235)}`]);
});

test("durations", () => {
  expect([null, 12, 3400, 59_999, 125_000, 4_320_000].map(duration)).toEqual(["–", "12 ms", "3.4 s", "1 min 0 s", "2 min 5 s", "1 h 12 min"]);
});

test("how long ago goes by calendar days", () => {
  const now = new Date(2026, 10, 30, 9, 0);
  expect(ago(new Date(2026, 10, 30, 8, 59, 50), now)).toBe("now");
  expect(ago(new Date(2026, 10, 30, 8, 55), now)).toBe("5 min");
  expect(ago(new Date(2026, 10, 30, 6, 0), now)).toBe("3 h");
  expect(ago(new Date(2026, 10, 29, 22, 0), now)).toBe("yesterday");
});
