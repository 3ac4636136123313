import type { Attempt, Evidence, Turn } from "@/api/types";
import { duration } from "@/ui/format";

// What the server kept about a turn, told to people. The terminal's `mooring explain` says the same.

const count = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;

/** A header's name as it is usually written: x-session-id is X-Session-Id. */
export const headerName = (name: string) => name.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());

/** What decided, as a sentence. */
export function decision(identity: string): string {
  const colon = identity.indexOf(":");
  const kind = colon < 0 ? identity : identity.slice(0, colon);
  const name = colon < 0 ? "" : identity.slice(colon + 1);
  switch (kind) {
    case "minted":
      return "The request named no session, so a new one was begun for it.";
    case "header":
      return `The request’s header ${headerName(name)} named this session.`;
    case "body":
      return `The field ${name} of the request’s body named this session.`;
    case "response":
      return `The request goes on from an earlier answer (${name}), which belongs to this session.`;
    case "learned":
      return `The request’s header ${headerName(name)} named this session; Mooring has learned that it names sessions.`;
    case "content":
      return likeness[name] ?? `The request’s content led to this session (${name}).`;
  }
  return identity === "" ? "What decided was not kept." : `What decided was ${identity}.`;
}

const likeness: Record<string, string> = {
  prefix: "The request’s messages go on with this conversation, up to an answer that came through Mooring.",
  reply: "The request holds an answer that came through Mooring in this conversation.",
  summary: "The request opens with a summary that was an answer in this conversation.",
  spawn: "The request opens with the task that an answer gave to a sub-agent.",
  retry: "The request is the same as one that failed here shortly before.",
};

/** A signal's name for reading: "header X-Session-Id", "body field metadata.user_id". */
export function signalName(signal: string): string {
  const colon = signal.indexOf(":");
  const kind = signal.slice(0, Math.max(colon, 0));
  const name = signal.slice(colon + 1);
  if (kind === "header") return `Header ${headerName(name)}`;
  if (kind === "body") return `Body field ${name}`;
  if (kind === "learned") return `Learned header ${headerName(name)}`;
  return signal;
}

export const uses: Record<Evidence["use"], string> = {
  decided: "decided",
  agreed: "agreed",
  alias: "names it from now on",
  ignored: "ignored",
  never: "never used",
};

/** What a signal is about, where that is not the session itself. */
export const about = (says: string | undefined) => (says && says !== "session" && says !== "never" ? says : "");

/** Why the turn went to its upstream. */
export function pinning(turn: Pick<Turn, "pin" | "upstream">): string {
  switch (turn.pin) {
    case "new":
      return "The session had no upstream yet for this model: the routing policy chose this one, and the session stays there.";
    case "hit":
      return "The session was there before, and stayed.";
    case "moved":
      return "The session was at another upstream, which could not answer: it moved, and stays here.";
  }
  if (turn.upstream === null) return "No upstream was asked.";
  return "The session does not stay with it: an upstream is kept only once it has answered well.";
}

const ends: Record<Turn["state"], string> = {
  running: "It is still running",
  completed: "It completed",
  failed: "It failed",
  cancelled: "It was stopped",
  interrupted: "It was interrupted: its server ended before it did",
};

/** How the turn ended, and with what its client was answered. */
export function outcome(turn: Pick<Turn, "state" | "status" | "error_code">): string {
  let said = ends[turn.state];
  if (turn.state !== "running" && turn.status !== null) said += `; the client got status ${turn.status}`;
  if (turn.error_code !== null) said += ` with the error ${turn.error_code}, which Mooring made`;
  return `${said}.`;
}

/** What was asked. */
export function request(turn: Pick<Turn, "kind" | "protocol" | "model" | "stream">): string {
  const how = turn.stream ? "to be streamed" : "to be answered in one piece";
  return `A ${turn.kind} request in the ${turn.protocol} protocol for ${turn.model ?? "no model"}, ${how}.`;
}

/** How much of the conversation the request held. */
export function held(view: unknown): string {
  if (view === null || typeof view !== "object") return "";
  const { sent, from } = view as { sent?: unknown; from?: unknown };
  if (typeof sent !== "number") return "";
  if (typeof from !== "string" || from === "") return `It held ${count(sent, "message")}, and none that the session had before.`;
  return `It held ${count(sent, "message")} of its branch; what it left out is kept here.`;
}

/** One try at an upstream. */
export function attempt(a: Attempt): string {
  let line = `${a.upstream ?? "No upstream"}${a.account === null ? "" : ` (account ${a.account})`}: ${a.state === "cancelled" ? "stopped" : a.state}`;
  if (a.status !== null) line += `, status ${a.status}`;
  if (a.duration_ms !== null) line += `, after ${duration(a.duration_ms)}`;
  if (a.reason) line += `: ${a.reason.replace(/\.$/, "")}`;
  return `${line}.`;
}
