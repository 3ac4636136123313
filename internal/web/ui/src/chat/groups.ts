import type { Session } from "@/api/types";
import { clientName } from "@/ui/clients";
import { daysBetween } from "@/ui/format";

export type Row = { kind: "head"; label: string } | { kind: "chat"; session: Session };

/** The side list's rows: pinned ones, then by day; a month each for what is older. */
export function rowsOf(sessions: Session[], now: Date): Row[] {
  const rows: Row[] = [];
  const pinned = sessions.filter((session) => session.pinned);
  if (pinned.length > 0) rows.push({ kind: "head", label: "Pinned" }, ...pinned.map((session): Row => ({ kind: "chat", session })));
  let label = "";
  for (const session of sessions) {
    if (session.pinned) continue;
    const day = dayLabel(new Date(session.updated_at), now);
    if (day !== label) rows.push({ kind: "head", label: (label = day) });
    rows.push({ kind: "chat", session });
  }
  return rows;
}

function dayLabel(then: Date, now: Date): string {
  const days = daysBetween(then, now);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "Last 7 days";
  if (days < 30) return "Last 30 days";
  return then.toLocaleDateString(undefined, { month: "long", year: "numeric" });
}

/** How the server calls the client of chats that are held in these pages. */
const ourselves = "mooring-workspace";

/** The program that a session is of, where it is another one than these pages. */
export const clientOf = ({ client }: Pick<Session, "client">) => (client === ourselves ? null : client && clientName(client));

/** What a session is called where it has no title. */
export function titleOf(session: Pick<Session, "title" | "client" | "turns">): string {
  if (session.title.trim() !== "") return session.title;
  const client = clientOf(session);
  return session.turns === 0 ? "Empty chat" : client ? `Session of ${client}` : "Untitled chat";
}
