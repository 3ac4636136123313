import type { Session, SessionID } from "@/api/types";
import { hasTree, type Below } from "./list";

/** A row of the table: a session, or a word about what stands below one. */
export type Row =
  | { kind: "session"; key: string; session: Session; level: number; opens: boolean; open: boolean }
  | { kind: "note"; key: string; parent: SessionID; level: number; note: "loading" | "failed" | "more" | "none" };

interface Source {
  rows: Session[];
  below: ReadonlyMap<SessionID, Below>;
  parents: ReadonlySet<SessionID>;
}

const deepest = 12; // no tree of agents is; a ring of parents ends here

/** The list and what is opened in it, as one run of rows. */
export function flatten({ rows, below, parents }: Source, hidden: ReadonlySet<SessionID>): Row[] {
  const out: Row[] = [];
  const add = (session: Session, level: number, path: string) => {
    if (hidden.has(session.id)) return;
    const key = path + session.id;
    const opened = below.get(session.id);
    out.push({ kind: "session", key, session, level, opens: parents.has(session.id) || opened !== undefined || hasTree(session), open: opened !== undefined });
    if (opened && level < deepest) addBelow(session.id, opened, level + 1, `${key}/`);
  };
  const addBelow = (parent: SessionID, { children, more, error }: Below, level: number, path: string) => {
    children?.forEach((child) => add(child, level, path));
    const note = error ? "failed" : children === null ? "loading" : more ? "more" : children.length === 0 ? "none" : null;
    if (note) out.push({ kind: "note", key: `${path}note`, parent, level, note });
  };
  for (const session of rows) add(session, 1, "");
  return out;
}

/** Where the row stands that this one is below of; -1 for none. */
export function parentOf(rows: Row[], index: number): number {
  const level = rows[index]?.level ?? 1;
  for (let i = index - 1; i >= 0; i--) if (rows[i]!.level < level) return i;
  return -1;
}
