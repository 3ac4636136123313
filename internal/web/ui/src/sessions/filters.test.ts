import { expect, test } from "vitest";
import { apiFilters, filterParams, narrowed, noFilters, parseFilters, type Filters } from "./filters";

test("filters survive their address, whatever text they hold", () => {
  const all: Filters[] = [
    noFilters,
    { q: "100% & “don’t” ?#+ 港口 🚢", show: "all", client: "a&b=c", project: "my project", upstream: "x", state: "failed" },
    { ...noFilters, show: "archived" },
    { ...noFilters, show: "subagent", q: " " },
  ];
  for (const one of all) expect(parseFilters(`?${filterParams(one)}`)).toEqual(one);
});

test("the usual view has no query, and asks for conversations that are not archived", () => {
  expect(filterParams(noFilters).toString()).toBe("");
  expect(apiFilters(noFilters)).toMatchObject({ kind: "main", archived: "false" });
  expect(narrowed(noFilters)).toBe(0);
});

test("what an address says that is no filter is left aside", () => {
  expect(parseFilters("?state=asleep&kind=x&other=1")).toEqual(noFilters);
});

test("what is shown decides kind and archive", () => {
  const asked = (show: Filters["show"]) => apiFilters({ ...noFilters, show });
  expect(asked("all")).toMatchObject({ kind: undefined, archived: undefined });
  expect(asked("archived")).toMatchObject({ kind: undefined, archived: "true" });
  expect(asked("side")).toMatchObject({ kind: "side", archived: undefined });
});
