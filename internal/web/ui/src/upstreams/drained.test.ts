import { describe, expect, test } from "vitest";
import type { Upstream } from "@/api/types";
import { left, onlyHere } from "./drained";

const upstream = (name: string, models: string[], more: Partial<Upstream> = {}): Upstream => ({ name, health: "healthy", models, ...more });

describe("onlyHere", () => {
  const a = upstream("a", ["gpt-x", "gpt-y"]);
  test.each<[string, Upstream[], string[]]>([
    ["alone it has all of them", [], ["gpt-x", "gpt-y"]],
    ["one that another has is not its alone", [upstream("b", ["gpt-y"])], ["gpt-x"]],
    ["a pattern has what it fits", [upstream("b", ["gpt-*"])], []],
    ["one that is drained takes no new sessions either", [upstream("b", ["*"], { drained: true })], ["gpt-x", "gpt-y"]],
    ["a point is a point", [upstream("b", ["gpt.x", "gpt+y", "pt-x"])], ["gpt-x", "gpt-y"]],
  ])("%s", (_, others, want) => expect(onlyHere(a, [a, ...others])).toEqual(want));

  test("a pattern is had by one that is as wide, not by a narrower one", () => {
    const wide = upstream("a", ["gpt-*"]);
    expect(onlyHere(wide, [wide, upstream("b", ["*"])])).toEqual([]);
    expect(onlyHere(wide, [wide, upstream("b", ["gpt-x"])])).toEqual(["gpt-*"]);
  });

  test("any model has words, and many are not all named", () => {
    const any = upstream("a", ["*"]);
    expect(onlyHere(any, [any])).toEqual(["any model"]);
    expect(onlyHere(any, [any, upstream("b", ["gpt-x"])])).toEqual(["all its models"]);
    const hub = upstream("hub", ["a", "b", "c", "d", "e"]);
    expect(onlyHere(hub, [hub])).toEqual(["a", "b", "c", "2 more"]);
  });
});

test.each<[string, Partial<Upstream>, string]>([
  ["empty", { pinned: 0, in_flight: 0, waiting: 0 }, "It is empty and can be taken away."],
  ["one", { pinned: 1, in_flight: 0 }, "1 session is left."],
  ["both", { pinned: 2, in_flight: 1, waiting: 1 }, "2 sessions and 2 requests are left."],
  ["requests that keep no session", { pinned: 0, in_flight: 1 }, "1 request is left."],
  ["the store cannot be asked", { pinned: null, in_flight: 0 }, "How many of its sessions are left is not known."],
  ["the store cannot be asked, requests run", { pinned: null, in_flight: 2 }, "2 requests are left."],
])("what is left: %s", (_, more, want) => expect(left(upstream("a", [], more))).toBe(want));
