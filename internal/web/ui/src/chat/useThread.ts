import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { api, query, sessionPath } from "@/api/client";
import { keys } from "@/api/keys";
import type { Message, MessageID, MessagePage, SessionID, Turn, TurnPage } from "@/api/types";

const pageSize = 100;

const fetchPage = (session: SessionID, tip: string, before: string | undefined, signal?: AbortSignal) =>
  api<MessagePage>(`${sessionPath(session)}/messages${query({ limit: pageSize, tip, before })}`, { signal });

/** The branch that ends at `tip` (null: the session's current one), the oldest message first, read from its end in pages. */
export function useBranch(session: SessionID | null, tip: MessageID | null) {
  const result = useInfiniteQuery({
    queryKey: keys.messages(session ?? "", tip ?? ""),
    queryFn: ({ pageParam, signal }) => fetchPage(session!, tip ?? "", pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    enabled: session !== null,
    // Another tip of the same session shows what was there until its own branch has come; another session never does.
    placeholderData: (previous, before) => (before?.queryKey[1] === session ? keepPreviousData(previous) : undefined),
  });
  const messages = useMemo(() => flat(result.data), [result.data]);
  return { ...result, messages };
}

function flat(data: InfiniteData<MessagePage> | undefined): Message[] {
  return data ? data.pages.toReversed().flatMap((page) => page.messages) : [];
}

/** The latest turns: their models and times, and which of them run. */
export function useTurns(session: SessionID | null) {
  return useQuery({
    queryKey: keys.turns(session ?? ""),
    queryFn: ({ signal }) => api<TurnPage>(`${sessionPath(session!)}/turns${query({ limit: 100 })}`, { signal }),
    enabled: session !== null,
    select: (page: TurnPage) => page.turns,
  });
}

/** Where a branch that goes through a message ends: its newest leaf. */
export async function leafBelow(session: SessionID, message: MessageID): Promise<MessageID> {
  const page = await api<MessagePage>(`${sessionPath(session)}/messages${query({ tip: message, down: 1, limit: 1 })}`);
  return page.messages.at(-1)?.id ?? message;
}

/**
 * Settles what is shown once a turn has ended: null where the session's current branch holds it, else the tip that does. What it
 * answers is in the cache already, so that the screen changes at once.
 */
export function useSettle(session: SessionID | null) {
  const client = useQueryClient();
  return useCallback(
    async (turn: Turn): Promise<MessageID | null> => {
      if (!session) return null;
      const end = turn.answer_id ?? turn.question_id;
      const load = (tip: MessageID | null) =>
        client.fetchInfiniteQuery({
          queryKey: keys.messages(session, tip ?? ""),
          queryFn: ({ pageParam, signal }) => fetchPage(session, tip ?? "", pageParam, signal),
          initialPageParam: undefined as string | undefined,
          getNextPageParam: (last: MessagePage) => last.next_cursor ?? undefined,
          staleTime: 0,
        });
      const current = flat(await load(null));
      if (end === null || current.some((message) => message.id === end)) return null;
      await load(end);
      return end;
    },
    [client, session],
  );
}
