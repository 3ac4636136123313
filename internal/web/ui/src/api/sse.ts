/** One event of a stream. `id` is the last id seen so far, as the standard has it. */
export interface ServerEvent {
  event: string;
  data: string;
  id: string;
}

/** Reads server-sent events out of text that comes in any pieces. */
export class EventParser {
  #rest = "";
  #event = "";
  #data: string[] = [];
  #id = "";
  #begun = false;

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#rest += text;
    if (!this.#begun && this.#rest !== "") {
      this.#begun = true;
      if (this.#rest.startsWith("\uFEFF")) this.#rest = this.#rest.slice(1);
    }
    let start = 0;
    for (;;) {
      const end = this.#lineEnd(start);
      if (end < 0) break;
      this.#line(this.#rest.slice(start, end), events);
      start = end + (this.#rest.startsWith("\r\n", end) ? 2 : 1);
    }
    this.#rest = this.#rest.slice(start);
    return events;
  }

  /** Where the next line ends; -1 while that is not known: a lone CR at the end may be half a CRLF. */
  #lineEnd(from: number): number {
    for (let i = from; i < this.#rest.length; i++) {
      const c = this.#rest[i];
      if (c === "\n") return i;
      if (c === "\r") return i + 1 < this.#rest.length ? i : -1;
    }
    return -1;
  }

  #line(line: string, events: ServerEvent[]) {
    if (line === "") {
      if (this.#data.length > 0) {
        events.push({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
      }
      this.#event = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment: the server's heartbeat
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }
}

/** The events of an answer, until it ends. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  const parser = new EventParser();
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Whoever stops listening closes the connection too.
    void reader.cancel().catch(() => {});
  }
}

/** How long to wait before the nth try to connect again: 0.5 s doubling up to 15 s, spread so that pages do not come in step. */
export function backoff(failures: number, random = Math.random()): number {
  const full = Math.min(15_000, 500 * 2 ** Math.min(failures, 10));
  return Math.round(full * (0.5 + random / 2));
}

/** Waits, but no longer than until the browser says that it is online again. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
