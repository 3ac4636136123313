import type { MessageID, Relation, Session, SessionID } from "@/api/types";

/** A session's title; of one without, its key. */
export const titleOf = (session: Pick<Session, "title" | "key">) => session.title.trim() || session.key || "Untitled";

/** Each relation but the usual one, and what it means. */
export const relations: Record<Exclude<Relation, "main">, { word: string; meaning: string }> = {
  subagent: { word: "sub-agent", meaning: "Another session gave this one its task." },
  fork: { word: "fork", meaning: "It began as a copy of a branch of another session." },
  reset: { word: "fresh", meaning: "It began with /new in an earlier chat." },
};

export const sessionAddress = (id: SessionID, at?: MessageID | null) => `/sessions/${encodeURIComponent(id)}${at ? `?tip=${encodeURIComponent(at)}` : ""}`;

export const chatAddress = (session: Pick<Session, "id" | "friendly_id">, at?: MessageID | null) =>
  `/chat/${encodeURIComponent(session.friendly_id || session.id)}${at ? `?message=${encodeURIComponent(at)}` : ""}`;
