import { expect, test } from "vitest";
import { pieces } from "./split";

test("nothing is lost", () => {
  const text = "# A\n\ntext\n\n```go\n# not a heading\n\n```\nmore\n\n## B\n- x\n\n  ```\n  inner\n  ```\n";
  expect(pieces(text).join("\n")).toBe(text);
});

test("cuts before headings and around fences, never inside one", () => {
  expect(pieces("a\n\n# B\n\n```sh\n\n# c\n```\nd")).toEqual(["a\n", "# B\n", "```sh\n\n# c\n```", "d"]);
});

test("a longer fence is not ended by a shorter one", () => {
  expect(pieces("````\n```\nx\n```\n````\ny")).toEqual(["````\n```\nx\n```\n````", "y"]);
});

test("lists and paragraphs stay together", () => {
  expect(pieces("- a\n\n- b\n\ntext")).toHaveLength(1);
});
