import { ApiError } from "@/api/client";
import type { Change } from "@/api/live";
import type { CostedUsage, Session, SessionID, SessionPage } from "@/api/types";

/** How the list reads; handed in, so that its rules can be tried without a server. */
export interface Source {
  page(asked: Record<string, string | number | undefined>): Promise<SessionPage>;
  one(id: SessionID): Promise<Session>;
}

/** What stands below an opened row: null while it is read. */
export interface Below {
  children: Session[] | null;
  more: boolean;
  error: unknown;
}

export interface ListState {
  rows: Session[];
  below: ReadonlyMap<SessionID, Below>;
  parents: ReadonlySet<SessionID>;
  /** Whether any of the sessions has a project. */
  projects: boolean;
  total: number | null;
  loading: boolean;
  more: boolean;
  error: unknown;
  /** Sessions that came to the list's head since it was last put in order. */
  fresh: number;
}

const firstPage = 100; // what the eye waits for
const nextPages = 200; // the most that the server gives
const onesAtMost = 20;
const openAtMost = 8;

const empty: ListState = { rows: [], below: new Map(), parents: new Set(), projects: false, total: null, loading: true, more: false, error: null, fresh: 0 };

/** Newest activity first; two of one moment by id, as the server does. */
export const newestFirst = (a: Session, b: Session) =>
  a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : a.id < b.id ? 1 : -1;

/**
 * The sessions of one view, read in pages. A change renews rows where they stand: they come in order again only when `settle` says
 * so, which is when nobody is reading or somebody asked for it.
 */
export class SessionList {
  #source: Source;
  #asked: Record<string, string | undefined>;
  #order: SessionID[] = [];
  #known = new Map<SessionID, Session>();
  #fresh = new Map<SessionID, Session>();
  #below = new Map<SessionID, Below>();
  #cursor: string | null = null;
  #begun = false;
  #reading: Promise<void> | null = null;
  #changed = new Set<SessionID>();
  #all = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #watchers = new Set<() => void>();
  #state = empty;
  #stopped = false;

  /** Whether rows may change their places now. */
  idle: () => boolean = () => false;

  constructor(source: Source, asked: Record<string, string | undefined>) {
    this.#source = source;
    this.#asked = asked;
  }

  subscribe = (tell: () => void) => {
    this.#watchers.add(tell);
    return () => void this.#watchers.delete(tell);
  };

  state = (): ListState => this.#state;

  start() {
    this.#stopped = false;
    if (!this.#begun) void this.more();
    return () => {
      this.#stopped = true;
      if (this.#timer) clearTimeout(this.#timer);
      this.#timer = null;
    };
  }

  /** Reads the next page; the same one for all who ask meanwhile. */
  more(): Promise<void> {
    if (this.#begun && this.#cursor === null) return Promise.resolve();
    this.#reading ??= this.#page().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #page() {
    const first = !this.#begun;
    this.#tell({ loading: true, error: null });
    try {
      const page = await this.#source.page({ ...this.#asked, limit: first ? firstPage : nextPages, cursor: this.#cursor ?? undefined });
      this.#begun = true;
      this.#cursor = page.next_cursor;
      for (const session of page.sessions) {
        if (this.#fresh.has(session.id)) continue;
        if (!this.#known.has(session.id)) this.#order.push(session.id);
        this.#known.set(session.id, session);
      }
      this.#tell({ loading: false, more: page.next_cursor !== null, total: first ? page.total : this.#state.total });
      if (first) void this.#findParents();
    } catch (error) {
      this.#tell({ loading: false, error });
    }
  }

  /** The list does not say who has sub-agents: those of late say whose they are, of older ones the use of the tree tells. */
  async #findParents() {
    try {
      const page = await this.#source.page({ kind: "subagent", limit: nextPages });
      const parents = new Set(this.#state.parents);
      for (const { parent_id } of page.sessions) if (parent_id !== null) parents.add(parent_id);
      this.#tell({ parents });
    } catch {
      // Nothing is lost but a way to open some rows.
    }
  }

  note(change: Change) {
    if (change.event === "reset") this.#all = true;
    else if (!change.session_id) return;
    else if (change.deleted) return this.drop(change.session_id);
    else this.#changed.add(change.session_id);
    if (!this.#stopped) this.#timer ??= setTimeout(() => void this.renew(), 500);
  }

  /** Reads what has changed. */
  async renew() {
    this.#timer = null;
    const changed = [...this.#changed];
    const all = this.#all;
    this.#changed.clear();
    this.#all = false;
    if (!this.#begun) return;
    try {
      const head = await this.#source.page({ ...this.#asked, limit: firstPage });
      const inHead = new Set(head.sessions.map((one) => one.id));
      for (const session of head.sessions) {
        if (this.#known.has(session.id)) this.#known.set(session.id, session);
        else this.#fresh.set(session.id, session);
      }
      const others = changed.filter((id) => !inHead.has(id) && this.#known.has(id)).slice(0, onesAtMost);
      await Promise.all(others.map((id) => this.check(id)));
      const strangers = all || changed.some((id) => !this.#known.has(id));
      if (strangers) void this.#findParents();
      await Promise.all(this.#openOf(changed, strangers).map((id) => this.#children(id)));
      this.#tell({ total: head.total });
      if (this.idle()) this.settle();
    } catch {
      // The next change tries again.
    }
  }

  #openOf(changed: SessionID[], strangers: boolean): SessionID[] {
    const touched = [...this.#below].filter(([, { children }]) => strangers || children?.some((one) => changed.includes(one.id)));
    return touched.slice(0, openAtMost).map(([id]) => id);
  }

  /** Reads one row again; one that is gone leaves the list. */
  async check(id: SessionID) {
    try {
      this.put(await this.#source.one(id));
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.drop(id);
    }
  }

  /** Puts the rows in order, those that came since with them. */
  settle() {
    for (const [id, session] of this.#fresh) this.#known.set(id, session);
    this.#fresh.clear();
    this.#order = [...this.#known.values()].sort(newestFirst).map((one) => one.id);
    this.#tell({});
  }

  /** Renews a row where it stands, also where it stands below another. */
  put(session: Session) {
    if (this.#known.has(session.id)) this.#known.set(session.id, session);
    if (this.#fresh.has(session.id)) this.#fresh.set(session.id, session);
    for (const [id, below] of this.#below) {
      if (!below.children?.some((one) => one.id === session.id)) continue;
      this.#below.set(id, { ...below, children: below.children.map((one) => (one.id === session.id ? session : one)) });
    }
    this.#tell({});
  }

  drop(id: SessionID) {
    const there = this.#known.delete(id);
    this.#fresh.delete(id);
    this.#below.delete(id);
    if (there) this.#order = this.#order.filter((one) => one !== id);
    for (const [parent, below] of this.#below) {
      if (below.children) this.#below.set(parent, { ...below, children: below.children.filter((one) => one.id !== id) });
    }
    const { total } = this.#state;
    this.#tell(there && total !== null && total <= exactTotal ? { total: total - 1 } : {});
  }

  open(id: SessionID) {
    if (this.#below.has(id)) return;
    this.#below.set(id, { children: null, more: false, error: null });
    this.#tell({});
    void this.#children(id);
  }

  close(id: SessionID) {
    if (this.#below.delete(id)) this.#tell({});
  }

  async #children(id: SessionID) {
    let next: Below;
    try {
      const page = await this.#source.page({ parent: id, kind: "subagent", limit: nextPages });
      next = { children: page.sessions, more: page.next_cursor !== null, error: null };
    } catch (error) {
      next = { children: this.#below.get(id)?.children ?? null, more: false, error };
    }
    if (!this.#below.has(id)) return; // closed meanwhile
    this.#below.set(id, next);
    this.#tell({});
  }

  #tell(change: Partial<ListState>) {
    const rows = this.#order.map((id) => this.#known.get(id)!);
    this.#state = {
      ...this.#state,
      ...change,
      rows,
      projects: this.#state.projects || rows.some((row) => row.project !== null),
      below: new Map(this.#below),
      fresh: this.#fresh.size,
    };
    this.#watchers.forEach((tell) => tell());
  }
}

const exactTotal = 10_000;

/** "1,234", and "10,000+" where the server stopped counting. */
export const totalText = (total: number) => (total > exactTotal ? `${exactTotal.toLocaleString()}+` : total.toLocaleString());

/** All tokens of a usage; null where none is known. */
export function allTokens(usage: Pick<CostedUsage, "input_tokens" | "output_tokens" | "cache_read_tokens" | "cache_write_tokens">): number | null {
  const known = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens].filter((n) => n !== null);
  return known.length === 0 ? null : known.reduce((sum, n) => sum + n, 0);
}

/** Whether a session's tree has used more than the session itself: something stands below it. */
export const hasTree = (session: Session) => allTokens(session.usage) !== allTokens(session.tree_usage);
