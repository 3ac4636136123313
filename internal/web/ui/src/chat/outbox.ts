// Questions that have not reached the server yet outlive a reload: what waits is sent then as the same message, and what cannot be is in
// the field again. Each tab keeps its own, or two would send what one of them takes back.
import type { MessageID, SessionID } from "@/api/types";
import { draftOf, keepDraft, keepLost } from "./memory";
import type { Run, Runs } from "./runs";

/** A question that waits, as it is kept: of its pictures, which are too large for that, the names. */
export interface Waiting {
  id: string;
  origin: string;
  session: SessionID | null;
  text: string;
  pictures: string[];
  model: string | null;
  parent: MessageID | "root";
  /** Said no to: it is not sent again by itself. */
  refused: boolean;
}

const key = "mooring.outbox";

export const waitingOf = (all: Run[]): Waiting[] => all.filter(isWaiting).map(({ id, origin, session, question, outcome }) => {
  const { text, pictures, model, parent } = question!;
  return { id, origin, session, text, pictures: pictures.map((one) => one.name), model, parent, refused: outcome === "refused" };
});

const isWaiting = (run: Run) => run.question !== null && run.turn === null && (run.phase !== "ended" || run.outcome === "refused");

function read(): Waiting[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(key) ?? "[]");
    return Array.isArray(kept) ? (kept as Waiting[]) : [];
  } catch {
    return [];
  }
}

function write(waiting: Waiting[]) {
  try {
    if (waiting.length === 0) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(waiting));
  } catch {
    // Storage is off or full: then it waits for as long as the page is there.
  }
}

let kept: { begun: string | null } | null = null;

/**
 * Goes on, once, with what waited when the page was left, and keeps from then on what waits. Gives the key of a chat that was yet to
 * begin and has a question waiting, or null.
 */
export function keepOutbox(runs: Runs): string | null {
  kept ??= { begun: takeUp(runs) };
  const { begun } = kept;
  return runs.all().some((run) => run.origin === begun && run.session === null) ? begun : null; // one that was sent meanwhile has its own address
}

function takeUp(runs: Runs): string | null {
  let begun: string | null = null;
  for (const one of read()) {
    if (one.refused || one.pictures.length > 0) {
      backIntoField(one);
      continue;
    }
    const { id, origin, session, text, model, parent } = one;
    runs.ask(origin, session, { text, pictures: [], model, parent }, id);
    if (session === null) begun = origin;
  }
  let last = "";
  const keep = () => {
    const waiting = waitingOf(runs.all());
    const now = JSON.stringify(waiting);
    if (now === last) return;
    last = now;
    write(waiting);
  };
  runs.subscribe(keep);
  write(waitingOf(runs.all()));
  return begun;
}

function backIntoField({ session, text, pictures }: Waiting) {
  const view = session ?? "new";
  const typed = draftOf(view);
  if (typed !== text) keepDraft(view, [text, typed].filter(Boolean).join("\n\n"));
  keepLost(view, pictures);
}
