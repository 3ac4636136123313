import { expect, test, vi } from "vitest";
import { ApiError } from "@/api/client";
import type { Session, SessionPage } from "@/api/types";
import { allTokens, SessionList, totalText, type Source } from "./list";

const none = { input_tokens: null, output_tokens: null, cache_read_tokens: null, cache_write_tokens: null, cost_usd: null };

function session(n: number, more: Partial<Session> = {}): Session {
  const at = new Date(Date.UTC(2026, 10, 1) + n * 1000).toISOString();
  return {
    id: `ses_${n}`, key: `k${n}`, friendly_id: `${n}`, title: `Number ${n}`, tenant: "local", client: null, project: null, parent_id: null, root_id: `ses_${n}`,
    relation: "main", state: "completed", upstream: null, models: [], turns: 1, usage: none, tree_usage: none, created_at: at, updated_at: at, pinned: false,
    archived: false, ...more,
  };
}

/** A server that holds sessions and gives pages of two. */
function server(all: Session[]) {
  const asked: Record<string, unknown>[] = [];
  const sorted = () => all.toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1));
  const source: Source = {
    page: async (what): Promise<SessionPage> => {
      asked.push(what);
      const fitting = sorted().filter((one) => (what["parent"] ? one.parent_id === what["parent"] : what["kind"] === "subagent" ? one.relation === "subagent" : one.relation !== "subagent"));
      const from = Number(what["cursor"] ?? 0);
      const next = from + 2;
      return { sessions: fitting.slice(from, next), next_cursor: next < fitting.length ? String(next) : null, total: fitting.length };
    },
    one: async (id) => {
      const found = all.find((one) => one.id === id);
      if (!found) throw new ApiError(404, "session_not_found", "There is no such session.");
      return found;
    },
  };
  return { source, asked, put: (one: Session) => void (all = [...all.filter((other) => other.id !== one.id), one]), remove: (id: string) => void (all = all.filter((one) => one.id !== id)) };
}

const ids = (list: SessionList) => list.state().rows.map((row) => row.id);

test("pages follow each other until the end, and nobody reads one twice", async () => {
  const { source, asked } = server([1, 2, 3, 4, 5].map((n) => session(n)));
  const list = new SessionList(source, {});
  await Promise.all([list.more(), list.more()]);
  expect(ids(list)).toEqual(["ses_5", "ses_4"]);
  await list.more();
  await list.more();
  await list.more();
  expect(ids(list)).toEqual(["ses_5", "ses_4", "ses_3", "ses_2", "ses_1"]);
  expect(list.state()).toMatchObject({ more: false, loading: false, total: 5 });
  expect(asked.filter((what) => what["kind"] === undefined)).toHaveLength(3);
});

test("a change renews its row where it stands; a new session waits until rows may move", async () => {
  const { source, put } = server([1, 2, 3].map((n) => session(n)));
  const list = new SessionList(source, {});
  await list.more();
  await list.more();
  put(session(9, { id: "ses_1", state: "running" }));
  put(session(10));
  list.note({ event: "turn.started", session_id: "ses_1" });
  await list.renew();
  expect(ids(list)).toEqual(["ses_3", "ses_2", "ses_1"]);
  expect(list.state().rows[2]!.state).toBe("running");
  expect(list.state()).toMatchObject({ fresh: 1, total: 4 });
  list.settle();
  expect(ids(list)).toEqual(["ses_10", "ses_1", "ses_3", "ses_2"]);
  expect(list.state().fresh).toBe(0);
});

test("where nobody is reading, rows come in order by themselves", async () => {
  const { source, put } = server([session(1), session(2)]);
  const list = new SessionList(source, {});
  list.idle = () => true;
  await list.more();
  put(session(3));
  list.note({ event: "turn.started", session_id: "ses_3" });
  await list.renew();
  expect(ids(list)).toEqual(["ses_3", "ses_2", "ses_1"]);
});

test("a session that came to the head while an older page was read is not shown twice", async () => {
  const { source, put } = server([1, 2, 3, 4].map((n) => session(n)));
  const list = new SessionList(source, {});
  await list.more();
  put(session(9, { id: "ses_1" }));
  list.note({ event: "turn.started", session_id: "ses_1" });
  await list.renew();
  await list.more();
  await list.more();
  list.settle();
  expect(ids(list)).toEqual(["ses_1", "ses_4", "ses_3", "ses_2"]);
});

test("what was deleted leaves, told by an event or by a 404", async () => {
  const { source, remove } = server([session(1), session(2)]);
  const list = new SessionList(source, {});
  await list.more();
  list.note({ event: "session.updated", session_id: "ses_2", deleted: true });
  expect(ids(list)).toEqual(["ses_1"]);
  expect(list.state().total).toBe(1);
  remove("ses_1");
  await list.check("ses_1");
  expect(ids(list)).toEqual([]);
});

test("an opened row has its sub-agents below it, renewed as they change", async () => {
  const child = session(2, { parent_id: "ses_1", relation: "subagent" });
  const { source, put } = server([session(1), child]);
  const list = new SessionList(source, {});
  await list.more();
  await vi.waitFor(() => expect([...list.state().parents]).toEqual(["ses_1"]));
  list.open("ses_1");
  await vi.waitFor(() => expect(list.state().below.get("ses_1")?.children?.map((one) => one.id)).toEqual(["ses_2"]));
  put({ ...child, state: "failed" });
  list.note({ event: "turn.finished", session_id: "ses_2" });
  await list.renew();
  expect(list.state().below.get("ses_1")?.children?.[0]!.state).toBe("failed");
  list.close("ses_1");
  expect(list.state().below.size).toBe(0);
});

test("a page that cannot be read is said, and read again on demand", async () => {
  const { source } = server([session(1)]);
  const page = vi.fn(source.page).mockRejectedValueOnce(new Error("broken"));
  const list = new SessionList({ ...source, page }, {});
  await list.more();
  expect(list.state()).toMatchObject({ loading: false, total: null });
  expect(list.state().error).toBeInstanceOf(Error);
  await list.more();
  expect(list.state()).toMatchObject({ error: null, total: 1 });
});

test("totals are exact to 10,000", () => {
  expect([totalText(0), totalText(10_000), totalText(10_001)]).toEqual(["0", (10_000).toLocaleString(), `${(10_000).toLocaleString()}+`]);
});

test("tokens that nobody told are not 0", () => {
  expect(allTokens(none)).toBeNull();
  expect(allTokens({ ...none, input_tokens: 3, cache_read_tokens: 4 })).toBe(7);
});
