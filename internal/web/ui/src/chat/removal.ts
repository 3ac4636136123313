import { useSyncExternalStore } from "react";
import { ApiError, api, sessionPath } from "@/api/client";
import type { Session, SessionID } from "@/api/types";
import { toast } from "@/ui";
import { dropChat } from "./chats";
import { titleOf } from "./groups";

const grace = 7; // seconds in which a deletion can be taken back

const pending = new Map<SessionID, ReturnType<typeof setTimeout>>();
const deleted = new Set<SessionID>(); // a list that has not heard of it yet leaves them out all the same
const watchers = new Set<() => void>();
let hidden: ReadonlySet<SessionID> = new Set();

function told() {
  hidden = new Set([...pending.keys(), ...deleted]);
  watchers.forEach((tell) => tell());
}

/** The sessions that are as good as deleted. */
export function useHidden(): ReadonlySet<SessionID> {
  return useSyncExternalStore(
    (tell) => {
      watchers.add(tell);
      return () => void watchers.delete(tell);
    },
    () => hidden,
  );
}

/** Deletes a session after a moment in which that can be undone; leaving the page does it at once. */
export function removeLater(session: Session, onUndo: () => void = () => {}) {
  if (pending.has(session.id)) return;
  pending.set(session.id, setTimeout(() => void remove(session), grace * 1000));
  told();
  toast({
    text: `Deleted “${shorten(titleOf(session))}”`,
    seconds: grace,
    action: {
      label: "Undo",
      run: () => {
        clearTimeout(pending.get(session.id));
        pending.delete(session.id);
        told();
        onUndo();
      },
    },
  });
}

async function remove(session: Session) {
  try {
    await api(sessionPath(session.id), { method: "DELETE", keepalive: true });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) {
      pending.delete(session.id);
      told();
      toast({ text: `“${shorten(titleOf(session))}” could not be deleted. It is in the list again.`, tone: "bad" });
      return;
    }
  }
  dropChat(session.id);
  deleted.add(session.id);
  pending.delete(session.id);
  told();
}

addEventListener("pagehide", () => {
  for (const [id, timer] of pending) {
    clearTimeout(timer);
    void api(sessionPath(id), { method: "DELETE", keepalive: true }).catch(() => {});
  }
});

const shorten = (text: string) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);
