import type { Turn } from "@/api/types";

/** A turn's course on the scale that all turns of the page share, in parts of it from 0 to 1. */
export interface Bar {
  wait: number;
  answer: number;
  ms: number;
  waitMs: number | null;
}

const time = (text: string | null) => (text === null ? null : Date.parse(text));

/** How long a turn took; of one that runs, how long it has. */
export function lasted(turn: Pick<Turn, "started_at" | "ended_at" | "duration_ms">, now: number): number {
  return Math.max(0, turn.duration_ms ?? (time(turn.ended_at) ?? now) - Date.parse(turn.started_at));
}

/** Until the first byte of the answer; null while there is none. */
export function waited(turn: Pick<Turn, "started_at" | "first_byte_at">): number | null {
  const first = time(turn.first_byte_at);
  return first === null ? null : Math.max(0, first - Date.parse(turn.started_at));
}

/** The longest of the turns: what the whole width of a bar stands for. A second at least, so that short ones look short. */
export const scaleOf = (turns: Turn[], now: number) => turns.reduce((most, turn) => Math.max(most, lasted(turn, now)), 1000);

export function barOf(turn: Turn, scale: number, now: number): Bar {
  const ms = lasted(turn, now);
  const first = waited(turn);
  const waitMs = first === null ? null : Math.min(first, ms); // the two are rounded apart
  const wait = waitMs ?? ms;
  return { wait: wait / scale, answer: (ms - wait) / scale, ms, waitMs };
}
