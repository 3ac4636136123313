import { expect, test } from "vitest";
import { safeBack } from "./back";

const origin = "https://chat.example.org";
const back = (asked: string | null) => safeBack(asked, origin);

test("a path of this server", () => {
  expect(back("/usage?by=day#x")).toBe("/usage?by=day#x");
  expect(back("/chat/a%2Fb")).toBe("/chat/a%2Fb");
});

test("nothing else", () => {
  for (const asked of [
    null, "", "usage", "//evil.example", "/\\evil.example", "/\t/evil.example", "///evil.example", "https://evil.example", "javascript:alert(1)",
    "/..//evil.example", "/.//evil.example", "\\\\evil.example", "/sign-in?back=/sign-in", "https://chat.example.org/usage",
  ]) {
    expect(back(asked), String(asked)).toBe("/");
  }
});
