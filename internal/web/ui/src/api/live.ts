import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { ApiError, send } from "./client";
import { keys } from "./keys";
import { backoff, pause, readEvents } from "./sse";

/** What has changed, as /api/events says it: ids only. */
export interface Change {
  event: "session.updated" | "turn.started" | "turn.finished" | "reset";
  session_id?: string;
  turn_id?: string;
  deleted?: boolean;
}

/** `waiting`: not there yet, or about to be again; `lost`: the server could not be reached, and is tried again. */
export type LiveState = "waiting" | "open" | "lost";

const readers = new Set<(change: Change) => void>();
const watchers = new Set<() => void>();
let state: LiveState = "waiting";

/** Hears every change, at once; for what must act itself instead of reading again. */
export function onChange(reader: (change: Change) => void): () => void {
  readers.add(reader);
  return () => void readers.delete(reader);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (tell) => {
      watchers.add(tell);
      return () => void watchers.delete(tell);
    },
    () => state,
  );
}

function become(next: LiveState) {
  if (state === next) return;
  state = next;
  watchers.forEach((tell) => tell());
}

/** Keeps one stream of changes open for the whole page and makes what they touch fresh. Mounted once, in the shell. */
export function useLive() {
  const client = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    const fresh = new Freshener(client);
    void listen(stop.signal, (change) => {
      fresh.note(change);
      readers.forEach((reader) => reader(change));
    });
    return () => {
      stop.abort();
      fresh.stop();
      become("waiting");
    };
  }, [client]);
}

async function listen(signal: AbortSignal, note: (change: Change) => void) {
  let last = "";
  let failures = 0;
  let lost = false;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (last !== "") headers["Last-Event-ID"] = last;
      const response = await send("/api/events", { signal, headers });
      become("open");
      // Without a number to go on from nobody knows what was missed meanwhile; and what could not be read while the server was away is read now.
      if (lost || (last === "" && failures > 0)) note({ event: "reset" });
      [failures, lost] = [0, false];
      for await (const event of readEvents(response)) {
        if (event.id !== "") last = event.id;
        const change = parse(event.event, event.data);
        if (change) note(change);
      }
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 404)) return become("waiting");
      lost ||= state !== "open"; // a stream that broke may be back at once: the next try tells
    }
    become(lost ? "lost" : "waiting");
    await pause(backoff(failures++), signal);
  }
}

function parse(event: string, data: string): Change | null {
  if (event !== "session.updated" && event !== "turn.started" && event !== "turn.finished" && event !== "reset") return null;
  try {
    return { ...(JSON.parse(data) as object), event };
  } catch {
    return null;
  }
}

/** Gathers changes for a moment, so that a busy server costs a page one reading a second and not one per turn. */
class Freshener {
  #client: QueryClient;
  #sessions = new Set<string>();
  #turns = new Set<string>();
  #all = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #last = 0;

  constructor(client: QueryClient) {
    this.#client = client;
  }

  note(change: Change) {
    if (change.event === "reset") this.#all = true;
    if (change.session_id) this.#sessions.add(change.session_id);
    if (change.turn_id) this.#turns.add(change.turn_id);
    this.#timer ??= setTimeout(() => this.#flush(), Math.max(50, this.#last + 1000 - Date.now()));
  }

  stop() {
    if (this.#timer) clearTimeout(this.#timer);
  }

  #flush() {
    this.#timer = null;
    this.#last = Date.now();
    if (this.#all) {
      void this.#client.invalidateQueries();
    } else {
      void this.#client.invalidateQueries({ queryKey: keys.allSessions });
      for (const id of this.#sessions) void this.#client.invalidateQueries({ queryKey: keys.session(id) });
      for (const id of this.#turns) void this.#client.invalidateQueries({ queryKey: keys.turn(id) });
    }
    this.#sessions.clear();
    this.#turns.clear();
    this.#all = false;
  }
}
