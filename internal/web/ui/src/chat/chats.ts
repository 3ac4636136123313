import { useEffect, useSyncExternalStore } from "react";
import { ApiError, api, query, sessionPath } from "@/api/client";
import { onChange, type Change } from "@/api/live";
import type { Session, SessionID, SessionPage } from "@/api/types";

/**
 * The side list's sessions. It is no query of the cache: that would read every loaded page again with each change; here a change reads
 * the session that changed.
 */
export interface ChatsState {
  sessions: Session[];
  loading: boolean;
  more: boolean;
  error: unknown;
}

/** Newest activity first; two of one moment by id, as the server does. */
export const newestFirst = (a: Session, b: Session) =>
  a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : a.id < b.id ? 1 : -1;

const pageSize = 60;

export class Chats {
  #known = new Map<SessionID, Session>();
  #cursor: string | null = null;
  #horizon = ""; // older ones are on pages that have not been read
  #begun = false;
  #reading: Promise<void> | null = null;
  #changed = new Set<SessionID>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #watchers = new Set<() => void>();
  #state: ChatsState = { sessions: [], loading: true, more: true, error: null };
  #archived: boolean;

  constructor(archived: boolean) {
    this.#archived = archived;
  }

  subscribe = (tell: () => void) => {
    this.#watchers.add(tell);
    return () => void this.#watchers.delete(tell);
  };

  state = (): ChatsState => this.#state;

  start() {
    const stop = onChange((change) => this.note(change));
    if (!this.#begun) void this.more();
    return stop;
  }

  /** Reads the next page. */
  more(): Promise<void> {
    if (this.#begun && this.#cursor === null && this.#state.error === null) return Promise.resolve();
    this.#reading ??= this.#page().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #page() {
    const first = !this.#begun;
    this.#tell({ loading: true, error: null });
    try {
      const [page, pinned] = await Promise.all([
        api<SessionPage>(`/api/sessions${query({ limit: pageSize, cursor: this.#cursor, archived: this.#archived })}`),
        first ? api<SessionPage>(`/api/sessions${query({ limit: 100, pinned: true, archived: this.#archived })}`) : null,
      ]);
      this.#begun = true;
      this.#cursor = page.next_cursor;
      this.#horizon = page.next_cursor === null ? "" : (page.sessions.at(-1)?.updated_at ?? "");
      for (const session of [...page.sessions, ...(pinned?.sessions ?? [])]) this.#known.set(session.id, session);
      this.#tell({ loading: false, more: page.next_cursor !== null });
    } catch (error) {
      this.#tell({ loading: false, error });
    }
  }

  /** What the page itself has changed is seen at once. */
  put(session: Session) {
    this.#keep(session);
    this.#tell({});
  }

  #keep(session: Session) {
    if (session.archived === this.#archived) this.#known.set(session.id, session);
    else this.#known.delete(session.id);
  }

  remove(id: SessionID) {
    if (this.#known.delete(id)) this.#tell({});
  }

  note(change: Change) {
    if (change.event === "reset") return this.#again();
    if (!change.session_id) return;
    if (change.deleted) return this.remove(change.session_id);
    this.#changed.add(change.session_id);
    this.#timer ??= setTimeout(() => void this.#refresh(), 400);
  }

  #again() {
    this.#begun = false;
    this.#cursor = null;
    this.#changed.clear();
    void this.more();
  }

  async #refresh() {
    this.#timer = null;
    const ids = [...this.#changed];
    this.#changed.clear();
    if (ids.length > 12) return this.#first(ids);
    await Promise.all(ids.map((id) => this.#one(id)));
    this.#tell({});
  }

  async #one(id: SessionID) {
    try {
      const session = await api<Session>(sessionPath(id));
      // One that has only side requests belongs in no list.
      const talks = session.turns > 0 || session.state !== null || session.relation === "reset" || session.client === null;
      if (talks || this.#known.has(id)) this.#keep(session);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.#known.delete(id);
    }
  }

  /** Many have changed: they are at the list's head now, so one page shows them. */
  async #first(ids: SessionID[]) {
    try {
      const page = await api<SessionPage>(`/api/sessions${query({ limit: 200, archived: this.#archived })}`);
      for (const session of page.sessions) if (this.#known.has(session.id) || ids.includes(session.id)) this.#keep(session);
      this.#tell({});
    } catch {
      // The next change tries again.
    }
  }

  #tell(change: Partial<ChatsState>) {
    const sessions = [...this.#known.values()].filter((one) => one.pinned || one.updated_at >= this.#horizon).sort(newestFirst);
    this.#state = { ...this.#state, ...change, sessions };
    this.#watchers.forEach((tell) => tell());
  }
}

const lists = { current: new Chats(false), archive: new Chats(true) };

/** What a page has changed, or seen to be gone, in both lists. */
export const putChat = (session: Session) => Object.values(lists).forEach((list) => list.put(session));
export const dropChat = (id: SessionID) => Object.values(lists).forEach((list) => list.remove(id));

export function useChats(which: keyof typeof lists): ChatsState & { readMore: () => void } {
  const list = lists[which];
  useEffect(() => list.start(), [list]);
  const state = useSyncExternalStore(list.subscribe, list.state);
  return { ...state, readMore: () => void list.more() };
}
