import { expect, test } from "vitest";
import type { Attempt } from "@/api/types";
import { attempt, decision, headerName, held, outcome, pinning, request, signalName } from "./words";

test("what decided is a sentence", () => {
  expect(decision("minted")).toContain("a new one was begun");
  expect(decision("header:x-claude-code-session-id")).toContain("X-Claude-Code-Session-Id");
  expect(decision("body:metadata.user_id")).toContain("metadata.user_id");
  expect(decision("response:previous_response_id")).toContain("previous_response_id");
  expect(decision("learned:x-chat")).toContain("has learned");
  for (const name of ["prefix", "reply", "summary", "spawn", "retry"]) expect(decision(`content:${name}`)).not.toContain(name === "prefix" ? "content:" : "led to");
  expect(decision("content:other")).toContain("(other)");
  expect(decision("odd:thing")).toBe("What decided was odd:thing.");
  expect(decision("")).toBe("What decided was not kept.");
});

test("signals are named as people know them", () => {
  expect(headerName("x-session-id")).toBe("X-Session-Id");
  expect([signalName("header:user-agent"), signalName("body:metadata.user_id"), signalName("learned:x-chat"), signalName("content:prefix"), signalName("odd")]).toEqual(
    ["Header User-Agent", "Body field metadata.user_id", "Learned header X-Chat", "content:prefix", "odd"]);
});

test("a pin says why that upstream", () => {
  expect(pinning({ pin: "new", upstream: "a" })).toContain("policy chose");
  expect(pinning({ pin: "hit", upstream: "a" })).toContain("stayed");
  expect(pinning({ pin: "moved", upstream: "a" })).toContain("moved");
  expect(pinning({ pin: null, upstream: "a" })).toContain("does not stay");
  expect(pinning({ pin: null, upstream: null })).toBe("No upstream was asked.");
});

test("how it ended, with what the client got", () => {
  expect(outcome({ state: "running", status: null, error_code: null })).toBe("It is still running.");
  expect(outcome({ state: "failed", status: 503, error_code: "upstream_unavailable" })).toBe(
    "It failed; the client got status 503 with the error upstream_unavailable, which Mooring made.");
});

test("what the request held", () => {
  expect(held(null)).toBe("");
  expect(held({ sent: 1 })).toBe("It held 1 message, and none that the session had before.");
  expect(held({ sent: 3, from: "msg_1" })).toBe("It held 3 messages of its branch; what it left out is kept here.");
  expect(request({ kind: "main", protocol: "chat", model: null, stream: true })).toBe("A main request in the chat protocol for no model, to be streamed.");
});

test("an attempt is one line", () => {
  const one: Attempt = {
    upstream: "gone", account: "b", state: "failed", status: 503, reason: "The connection was refused.", duration_ms: 12, started_at: "", ended_at: null,
    usage: { input_tokens: null, output_tokens: null, cache_read_tokens: null, cache_write_tokens: null },
  };
  expect(attempt(one)).toBe("gone (account b): failed, status 503, after 12 ms: The connection was refused.");
  expect(attempt({ ...one, upstream: null, account: null, status: null, reason: null, duration_ms: null, state: "cancelled" })).toBe("No upstream: stopped.");
});
