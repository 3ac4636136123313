import { ApiError, api, NetworkError, send, sentence } from "@/api/client";
import { backoff, pause, readEvents, type ServerEvent } from "@/api/sse";
import type { MessageID, SessionID, TurnID, TurnState } from "@/api/types";
import { keepDraft } from "./memory";

/** An image that goes with a message; `url` is a data: URL. */
export interface Picture {
  id: string;
  name: string;
  type: string;
  size: number;
  url: string;
}

/** What was asked. */
export interface Question {
  text: string;
  pictures: Picture[];
  model: string | null;
  /** The message it answers from, "root" for the beginning. */
  parent: MessageID | "root";
}

export interface ToolState {
  id: string;
  name: string;
  phase: string;
  args: string;
  result: string;
}

/**
 * `sending`: not heard of yet · `offline`: waits for the connection · `queued`: the server has it, another turn goes first ·
 * `answering` · `ended`.
 */
export type Phase = "sending" | "offline" | "queued" | "answering" | "ended";

/** One question and the answer that comes. It belongs to the chat that it was asked in, whatever is on the screen. */
export interface Run {
  /** Also the clientMessageId, so a repeated send is the same turn. */
  id: string;
  /** The view that it was asked in: a session, or the key of a chat that has none yet. */
  origin: string;
  session: SessionID | null;
  turn: TurnID | null;
  /** Null for a turn that is only followed. */
  question: Question | null;
  phase: Phase;
  text: string;
  thinking: string;
  tools: ToolState[];
  /** The last event's number, to go on behind it. */
  last: string;
  stopping: boolean;
  outcome: TurnState | "refused" | null;
  error: { code: string; message: string } | null;
  startedAt: number;
}

interface EventData {
  runId?: string;
  sessionId?: string | null;
  text?: string;
  fullReplace?: boolean;
  message?: string;
  code?: string;
  state?: string;
  phase?: string;
  name?: string;
  toolCallId?: string;
  args?: unknown;
  preview?: string;
  result?: unknown;
}

/** What an event makes of a run. An event of another turn changes nothing. */
export function applied(run: Run, event: ServerEvent): Run {
  let data: EventData;
  try {
    data = JSON.parse(event.data) as EventData;
  } catch {
    return run;
  }
  if (run.phase === "ended" || (run.turn && data.runId && data.runId !== run.turn)) return run;
  const next: Run = { ...run, last: event.id || run.last };
  switch (event.event) {
    case "started":
      return { ...next, phase: "answering", turn: data.runId || run.turn, session: data.sessionId ?? run.session };
    case "chunk":
      return { ...next, phase: "answering", text: data.fullReplace ? (data.text ?? "") : run.text + (data.text ?? "") };
    case "thinking":
      return { ...next, phase: "answering", thinking: data.fullReplace ? (data.text ?? "") : run.thinking + (data.text ?? "") };
    case "tool":
      return { ...next, phase: "answering", tools: withTool(run.tools, data) };
    case "error":
      return { ...next, error: { code: data.code ?? "error", message: data.message ?? "The turn failed." }, phase: "ended", outcome: endedBy(data.code, run.stopping) };
    case "done":
      return { ...next, session: data.sessionId ?? run.session, phase: "ended", outcome: outcomeOf(data.state) };
  }
  return run;
}

const endedBy = (code: string | undefined, stopping: boolean): TurnState => (code === "turn_cancelled" || stopping ? "cancelled" : "failed");

function outcomeOf(state: string | undefined): TurnState {
  return state === "failed" || state === "cancelled" || state === "interrupted" ? state : "completed";
}

function withTool(tools: ToolState[], data: EventData): ToolState[] {
  const id = data.toolCallId || data.name || "tool";
  const before = tools.find((tool) => tool.id === id) ?? { id, name: "", phase: "start", args: "", result: "" };
  const after: ToolState = {
    id,
    name: data.name || before.name,
    phase: data.phase ?? before.phase,
    args: readable(data.args) || before.args,
    result: readable(data.result) || readable(data.preview) || before.result,
  };
  return tools.some((tool) => tool.id === id) ? tools.map((tool) => (tool.id === id ? after : tool)) : [...tools, after];
}

const readable = (value: unknown): string => (typeof value === "string" ? value : value == null ? "" : JSON.stringify(value, null, 2));

/** The runs of all chats of this tab. It outlives what is on the screen, so an answer goes on while another chat is read. */
export class Runs {
  #runs = new Map<string, Run>();
  #aborts = new Map<string, AbortController>();
  #watchers = new Set<() => void>();
  #told: Run[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  subscribe = (tell: () => void) => {
    this.#watchers.add(tell);
    return () => void this.#watchers.delete(tell);
  };

  all = (): Run[] => this.#told;

  get(id: string): Run | undefined {
    return this.#runs.get(id);
  }

  /** Asks. `origin` is the view, `session` its session if it has one. */
  ask(origin: string, session: SessionID | null, question: Question, id = randomID()): string {
    this.#begin({ ...blank(id, origin), session, question });
    return id;
  }

  /** Follows a turn that somebody else began, or this page before it was loaded anew. */
  follow(session: SessionID, turn: TurnID) {
    if ([...this.#runs.values()].some((run) => run.turn === turn)) return;
    this.#begin({ ...blank(turn, session), session, turn, phase: "answering" });
  }

  /** Sends again what was refused or failed before it began: the same message, so never twice. */
  again(id: string) {
    const run = this.#runs.get(id);
    if (run?.question && run.phase === "ended" && run.turn === null) this.#begin({ ...blank(id, run.origin), session: run.session, question: run.question });
  }

  /** Stops the answer; a question that has not reached the server is taken back. */
  stop(id: string) {
    const run = this.#runs.get(id);
    if (!run || run.phase === "ended") return;
    if (run.turn === null && run.phase === "offline") return this.drop(id);
    this.#set({ ...run, stopping: true });
    if (run.turn) void this.#cancel(run.turn, id);
  }

  drop(id: string) {
    this.#aborts.get(id)?.abort();
    this.#aborts.delete(id);
    this.#runs.delete(id);
    this.#tell(0);
  }

  async #cancel(turn: TurnID, id: string) {
    try {
      await api(`/api/turns/${turn}/cancel`, { method: "POST" });
    } catch (error) {
      const run = this.#runs.get(id);
      if (run && run.phase !== "ended") this.#set({ ...run, stopping: false });
      if (!(error instanceof ApiError && error.code === "session_busy")) return;
      await new Promise((resolve) => setTimeout(resolve, 1000));
      if (this.#runs.get(id)?.phase === "answering") this.stop(id);
    }
  }

  #begin(run: Run) {
    const abort = new AbortController();
    this.#aborts.set(run.id, abort);
    this.#runs.set(run.id, run);
    this.#tell(0);
    void this.#drive(run.id, abort.signal);
  }

  async #drive(id: string, signal: AbortSignal) {
    for (let failures = 0; !signal.aborted; failures++) {
      const heard = this.#runs.get(id)?.last;
      try {
        await this.#listen(id, signal);
      } catch (error) {
        if (signal.aborted || !this.#survives(id, error, failures)) return;
      }
      const run = this.#runs.get(id);
      if (!run || run.phase === "ended") return;
      if (run.last !== heard) failures = 0;
      await pause(backoff(failures), signal);
    }
  }

  /** Reads one connection's events. */
  async #listen(id: string, signal: AbortSignal) {
    const run = this.#runs.get(id)!;
    const response = run.turn
      ? await send(`/api/turns/${run.turn}/stream`, { signal, headers: { Accept: "text/event-stream", ...(run.last && { "Last-Event-ID": run.last }) } })
      : await send("/api/send-stream", { method: "POST", signal, headers: { Accept: "text/event-stream" }, body: bodyOf(run) });
    const now = this.#runs.get(id);
    if (now && now.phase !== "answering") this.#set({ ...now, phase: "queued" });
    for await (const event of readEvents(response)) {
      const before = this.#runs.get(id);
      if (!before || signal.aborted) return;
      const after = applied(before, event);
      if (after === before) continue;
      this.#set(after);
      if (after.turn && !before.turn) this.#named(after);
      if (after.phase === "ended") return;
    }
  }

  /** A run has learned its turn: whoever followed that turn meanwhile need not, and a stop that was asked for can be done. */
  #named(run: Run) {
    for (const other of this.#runs.values()) if (other.turn === run.turn && other.id !== run.id) this.drop(other.id);
    if (run.stopping) void this.#cancel(run.turn!, run.id);
  }

  /** Whether a failed connection is worth another try; if not the run has ended. */
  #survives(id: string, error: unknown, failures: number): boolean {
    const run = this.#runs.get(id);
    if (!run) return false;
    if (error instanceof NetworkError || !(error instanceof ApiError)) {
      this.#set({ ...run, phase: run.turn ? run.phase : "offline" });
      return true;
    }
    // The server restarts, or what stands before it has lost it: the turn may be there still.
    if (run.turn && error.status >= 500 && failures < 8) return true;
    const refused = run.turn === null;
    // The page leaves for the sign-in: the question is in the field when it comes back.
    if (refused && run.question && error.status === 401) keepDraft(run.session ?? "new", run.question.text);
    this.#set({ ...run, phase: "ended", outcome: refused ? "refused" : "interrupted", error: { code: error.code, message: sentence(error) } });
    return false;
  }

  #set(run: Run) {
    const before = this.#runs.get(run.id);
    if (!before) return;
    this.#runs.set(run.id, run);
    this.#tell(before.phase === run.phase && before.turn === run.turn ? 40 : 0);
  }

  /** Tells at most 25 times a second: more than that nobody reads, and each costs a rendering. */
  #tell(after: number) {
    if (after > 0) {
      this.#timer ??= setTimeout(() => this.#tell(0), after);
      return;
    }
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#told = [...this.#runs.values()];
    this.#watchers.forEach((tell) => tell());
  }
}

const blank = (id: string, origin: string): Run => ({
  id, origin, session: null, turn: null, question: null, phase: "sending", text: "", thinking: "", tools: [], last: "", stopping: false, outcome: null, error: null, startedAt: Date.now(),
});

function bodyOf(run: Run) {
  const { text, pictures, model, parent } = run.question!;
  return {
    sessionKey: run.session ?? run.origin,
    message: text,
    clientMessageId: run.id,
    ...(model && { model }),
    ...(run.session && { parentId: parent }),
    ...(pictures.length > 0 && { attachments: pictures.map((p) => ({ id: p.id, name: p.name, contentType: p.type, size: p.size, dataUrl: p.url })) }),
  };
}

/** A UUID; crypto.randomUUID is there on secure origins only, and Mooring may be reached by plain http in a local network. */
export function randomID(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const runs = new Runs();

/** The runs of a view: those of its session; where it has none yet, those that were asked in it. */
export function runsIn(all: Run[], origin: string, session: SessionID | null): Run[] {
  return all.filter((run) => (session !== null && run.session !== null ? run.session === session : run.origin === origin));
}
