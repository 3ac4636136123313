import { expect, test } from "vitest";
import { choices } from "./models";

const names = ["gpt-x", "gpt-x-mini", "claude-y"];
const models = (text: string) => choices(names, text).map((one) => (one.listed ? one.model : `+${one.model}`));

test("without a search all models are there, and no choice first", () => {
  expect(models(" ")).toEqual([null, "gpt-x", "gpt-x-mini", "claude-y"]);
});

test("all words of a search must be in the name, in any order", () => {
  expect(models("MINI gpt")).toEqual(["gpt-x-mini"]);
});

test("what nobody lists can be asked for, behind what is found", () => {
  expect(models("gpt")).toEqual(["gpt-x", "gpt-x-mini", "+gpt"]);
  expect(models("llama")).toEqual(["+llama"]);
});

test("a listed name is not offered twice", () => {
  expect(models("claude-y")).toEqual(["claude-y"]);
});
