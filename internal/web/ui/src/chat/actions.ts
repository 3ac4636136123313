import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { api, sentence, sessionPath } from "@/api/client";
import { keys } from "@/api/keys";
import type { Session } from "@/api/types";
import { toast } from "@/ui";
import { putChat } from "./chats";

export type Change = Partial<Pick<Session, "title" | "pinned" | "archived">>;

/** Changes a session: seen at once, and taken back where the server refuses. */
export function useChangeSession() {
  const client = useQueryClient();
  return useCallback(
    async (session: Session, change: Change) => {
      const put = (next: Session) => {
        putChat(next);
        client.setQueryData(keys.session(next.id), next);
      };
      put({ ...session, ...change });
      try {
        put(await api<Session>(sessionPath(session.id), { method: "PATCH", body: change }));
      } catch (error) {
        put(session);
        toast({ text: sentence(error), tone: "bad" });
      }
    },
    [client],
  );
}
