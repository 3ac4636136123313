import { expect, test } from "vitest";
import type { Message } from "@/api/types";
import { arrange, blocksOf, safeImage, typedText } from "./parts";

const message = (role: string, content: Message["content"], text = ""): Message => ({
  id: `msg_${Math.random()}`, parent_id: null, branch_count: 1, turn_id: null, role, content, text, state: "completed", created_at: "2026-11-30T09:00:00Z",
});

test("the same things of three protocols are the same blocks", () => {
  const chat = blocksOf(message("assistant", [{ type: "text", text: "a" }, { type: "tool_call", id: "c", function: { name: "Read", arguments: '{"p":1}' } }]));
  const messages = blocksOf(message("assistant", [{ type: "text", text: "a" }, { type: "tool_use", id: "c", name: "Read", input: { p: 1 } }]));
  const responses = blocksOf(message("assistant", [{ type: "output_text", text: "a" }, { type: "function_call", call_id: "c", name: "Read", arguments: '{"p":1}' }]));
  expect(chat).toEqual(messages);
  expect(responses).toEqual(messages);
});

test("results stand with their calls, by id or in order", () => {
  const { shown, results } = arrange([
    message("assistant", [{ type: "tool_use", id: "t1", name: "Bash", input: {} }]),
    message("user", [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "out" }], is_error: true }]),
    message("assistant", [{ type: "tool_call", id: "c1", function: { name: "a" } }, { type: "tool_call", id: "c2", function: { name: "b" } }]),
    message("tool", "first"),
    message("tool", "second"),
    message("assistant", "done"),
  ]);
  expect(shown.map((s) => s.blocks.map((b) => b.kind))).toEqual([["call"], ["call", "call"], ["text"]]);
  expect(results.get("t1")).toEqual({ kind: "result", id: "t1", text: "out", failed: true });
  expect([results.get("c1")?.text, results.get("c2")?.text]).toEqual(["first", "second"]);
});

test("a result without its call is shown by itself", () => {
  const { shown } = arrange([message("tool", "lonely")]);
  expect(shown[0]?.blocks).toEqual([{ kind: "result", id: "", text: "lonely", failed: false }]);
});

test("a client's notes are no part of what was typed", () => {
  const m = message("user", [{ type: "text", text: "<system-reminder>be brief</system-reminder>\n" }, { type: "text", text: "Fix it" }]);
  expect(blocksOf(m).map((b) => b.kind)).toEqual(["reminder", "text"]);
  expect(typedText(m)).toBe("Fix it");
});

test("only an image's own data and this server's images are loaded", () => {
  expect(safeImage("data:image/png;base64,AA")).not.toBeNull();
  expect(safeImage("/a.png")).toBe("/a.png");
  for (const url of ["https://x.example/a.png", "//x.example/a.png", "/\\x.example", "data:text/html,x", "data:image/svg+xml;base64,AA", "javascript:alert(1)", ""]) {
    expect(safeImage(url), url).toBeNull();
  }
});

test("without parts the text is shown", () => {
  expect(blocksOf(message("user", [], "hello"))).toEqual([{ kind: "text", text: "hello" }]);
});
