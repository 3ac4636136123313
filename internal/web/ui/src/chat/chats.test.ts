import { afterEach, expect, test, vi } from "vitest";
import type { Session, SessionPage } from "@/api/types";
import { Chats } from "./chats";

const session = (id: string, minute: number, more: Partial<Session> = {}) =>
  ({ id, title: id, client: null, relation: "main", turns: 1, state: "completed", pinned: false, archived: false, updated_at: new Date(2026, 10, 30, 9, minute).toISOString(), ...more }) as Session;

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function serve(pages: Record<string, SessionPage>, one: Record<string, Session | null> = {}) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    const single = /^\/api\/sessions\/(\w+)$/.exec(path)?.[1];
    if (single) return one[single] ? Response.json(one[single]) : Response.json({ error: { message: "gone", code: "session_not_found" } }, { status: 404 });
    const params = new URL(path, "http://x").searchParams;
    return Response.json(params.get("pinned") ? pages["pinned"] : pages[params.get("cursor") ?? "first"]);
  });
  return asked;
}

const page = (sessions: Session[], next: string | null = null): SessionPage => ({ sessions, next_cursor: next, total: sessions.length });

test("pinned sessions of later pages are there from the start, others come with their page", async () => {
  serve({ first: page([session("a", 50), session("b", 40)], "c1"), c1: page([session("c", 30)]), pinned: page([session("p", 1, { pinned: true })]) });
  const chats = new Chats(false);
  await chats.more();
  expect(chats.state().sessions.map((s) => s.id)).toEqual(["a", "b", "p"]);
  await chats.more();
  expect(chats.state()).toMatchObject({ more: false });
  expect(chats.state().sessions.map((s) => s.id)).toEqual(["a", "b", "c", "p"]);
});

test("a change reads the session that changed and nothing else", async () => {
  vi.useFakeTimers();
  const asked = serve({ first: page([session("a", 50), session("b", 40)]), pinned: page([]) }, { b: session("b", 59), a: null });
  const chats = new Chats(false);
  await chats.more();
  asked.length = 0;
  chats.note({ event: "turn.finished", session_id: "b", turn_id: "t" });
  chats.note({ event: "session.updated", session_id: "b" });
  chats.note({ event: "session.updated", session_id: "a" });
  await vi.advanceTimersByTimeAsync(500);
  expect(asked.sort()).toEqual(["/api/sessions/a", "/api/sessions/b"]);
  expect(chats.state().sessions.map((s) => s.id)).toEqual(["b"]);
});

test("what is archived leaves the list and joins the other", () => {
  const [current, archive] = [new Chats(false), new Chats(true)];
  for (const one of [session("a", 1), session("a", 1, { archived: true })]) [current, archive].forEach((list) => list.put(one));
  expect(current.state().sessions).toEqual([]);
  expect(archive.state().sessions.map((s) => s.id)).toEqual(["a"]);
});
