import { afterEach, expect, test, vi } from "vitest";
import { applied, Runs, runsIn, type Run } from "./runs";

const event = (event: string, data: object, id = "") => ({ event, data: JSON.stringify(data), id });
const run = (more: Partial<Run> = {}): Run => ({
  id: "r", origin: "A", session: "A", turn: "t1", question: null, phase: "answering", text: "", thinking: "", tools: [], last: "", stopping: false, outcome: null, error: null, startedAt: 0, ...more,
});

test("chunks add up, and a full one replaces", () => {
  let r = run();
  for (const [text, fullReplace] of [["a", false], ["b", false], ["xyz", true], ["!", false]] as const) r = applied(r, event("chunk", { text, fullReplace, runId: "t1" }));
  expect(r.text).toBe("xyz!");
});

test("an event of another turn changes nothing", () => {
  const r = run();
  expect(applied(r, event("chunk", { text: "theirs", runId: "t2" }))).toBe(r);
  expect(applied(r, event("done", { state: "complete", runId: "t2" }))).toBe(r);
});

test("nothing is added to what has ended", () => {
  const r = applied(run(), event("done", { state: "complete", runId: "t1" }));
  expect(r.outcome).toBe("completed");
  expect(applied(r, event("chunk", { text: "late", runId: "t1" }))).toBe(r);
});

test("how a turn ends", () => {
  expect(applied(run(), event("error", { message: "No.", code: "upstream_error" })).outcome).toBe("failed");
  expect(applied(run(), event("error", { message: "Stopped.", code: "turn_cancelled" })).outcome).toBe("cancelled");
  expect(applied(run(), event("done", { state: "cancelled" })).outcome).toBe("cancelled");
});

test("a tool's phases are one tool", () => {
  let r = applied(run(), event("tool", { phase: "start", name: "Read", toolCallId: "c" }));
  r = applied(r, event("tool", { phase: "calling", toolCallId: "c", args: '{"p":1}' }));
  r = applied(r, event("tool", { phase: "complete", toolCallId: "c", result: "ok" }));
  expect(r.tools).toEqual([{ id: "c", name: "Read", phase: "complete", args: '{"p":1}', result: "ok" }]);
});

test("a view shows its own runs alone", () => {
  const first = run({ id: "1", origin: "key-1", session: null }); // asked in a new chat, not heard of yet
  const known = run({ id: "2", origin: "key-1", session: "S1" });
  const other = run({ id: "3", origin: "S2", session: "S2" });
  expect(runsIn([first, known, other], "key-1", null).map((r) => r.id)).toEqual(["1", "2"]);
  expect(runsIn([first, known, other], "S1", "S1").map((r) => r.id)).toEqual(["2"]);
  expect(runsIn([first, known, other], "S2", "S2").map((r) => r.id)).toEqual(["3"]);
  expect(runsIn([first, known, other], "key-9", null)).toEqual([]);
});

const answer = (...events: string[]) => new Response(events.join(""), { headers: { "Content-Type": "text/event-stream" } });
const sse = (id: number, name: string, data: object) => `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
afterEach(() => vi.unstubAllGlobals());

const until = (runs: Runs, ok: (all: Run[]) => boolean) =>
  new Promise<void>((resolve) => {
    const stop = runs.subscribe(() => {
      if (ok(runs.all())) {
        stop();
        resolve();
      }
    });
  });

test("two chats that answer at once keep their answers apart", async () => {
  const bodies: { sessionKey: string; parentId: string }[] = [];
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("removeEventListener", () => {});
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    const body = JSON.parse(init.body as string) as { sessionKey: string; parentId: string };
    bodies.push(body);
    const turn = `turn-${body.sessionKey}`;
    return answer(sse(1, "started", { runId: turn, sessionId: body.sessionKey }), sse(2, "chunk", { text: `for ${body.sessionKey}`, runId: turn }), sse(3, "done", { state: "complete", runId: turn }));
  });
  const runs = new Runs();
  runs.ask("S1", "S1", { text: "one", pictures: [], model: null, parent: "root" });
  runs.ask("S2", "S2", { text: "two", pictures: [], model: null, parent: "m9" });
  await until(runs, (all) => all.every((r) => r.phase === "ended"));
  expect(runsIn(runs.all(), "S1", "S1").map((r) => r.text)).toEqual(["for S1"]);
  expect(runsIn(runs.all(), "S2", "S2").map((r) => r.text)).toEqual(["for S2"]);
  expect(bodies.map((b) => b.parentId)).toEqual(["root", "m9"]);
});

test("a lost connection is taken up behind the last event, a lost send is repeated under the same id", async () => {
  const calls: { path: string; last: string | undefined; id: string | undefined }[] = [];
  vi.stubGlobal("addEventListener", (_: string, act: () => void) => queueMicrotask(act)); // online again at once
  vi.stubGlobal("removeEventListener", () => {});
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    const body = init.body ? (JSON.parse(init.body as string) as { clientMessageId: string }) : undefined;
    calls.push({ path, last: (init.headers as Record<string, string>)["Last-Event-ID"], id: body?.clientMessageId });
    if (calls.length === 1) throw new TypeError("offline");
    if (calls.length === 2) return answer(sse(1, "started", { runId: "t", sessionId: "S" }), sse(2, "chunk", { text: "half ", runId: "t" }));
    return answer(sse(3, "chunk", { text: "whole", runId: "t" }), sse(4, "done", { state: "complete", runId: "t" }));
  });
  const runs = new Runs();
  const id = runs.ask("S", "S", { text: "q", pictures: [], model: null, parent: "root" });
  await until(runs, (all) => all[0]?.phase === "ended");
  expect(runs.get(id)?.text).toBe("half whole");
  expect(calls).toEqual([
    { path: "/api/send-stream", last: undefined, id },
    { path: "/api/send-stream", last: undefined, id },
    { path: "/api/turns/t/stream", last: "2", id: undefined },
  ]);
});

test("what is refused stays, with the server's sentence, and can be sent again", async () => {
  let calls = 0;
  vi.stubGlobal("fetch", async () => {
    calls++;
    return calls === 1
      ? Response.json({ error: { message: "The session is busy.", code: "session_busy" } }, { status: 429 })
      : answer(sse(1, "started", { runId: "t", sessionId: "S" }), sse(2, "done", { state: "complete", runId: "t" }));
  });
  const runs = new Runs();
  const id = runs.ask("S", "S", { text: "q", pictures: [], model: null, parent: "root" });
  await until(runs, (all) => all[0]?.phase === "ended");
  expect(runs.get(id)).toMatchObject({ outcome: "refused", error: { code: "session_busy", message: "The session is busy." } });
  const done = until(runs, (all) => all[0]?.outcome === "completed");
  runs.again(id);
  await done;
});
