import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { ApiError, api, query, sessionPath } from "@/api/client";
import { keys } from "@/api/keys";
import type { Message, MessageID, MessagePage, SessionID } from "@/api/types";

const pageSize = 100;
const searchAtMost = 20; // pages that are read in looking for one message

/** The branch that goes through `tip` down to its newest end, the current one without; the oldest message first. */
export function useBranch(session: SessionID, tip: MessageID | null) {
  const result = useInfiniteQuery({
    queryKey: [...keys.messages(session, tip ?? ""), "down"],
    queryFn: ({ pageParam, signal }) =>
      api<MessagePage>(`${sessionPath(session)}/messages${query({ limit: pageSize, tip, down: tip === null ? null : 1, before: pageParam })}`, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    // Another branch of the same session: what was there stays until its own messages have come.
    placeholderData: (previous, before) => (before?.queryKey[1] === session && !(before.state.error instanceof ApiError) ? previous : undefined),
  });
  const messages = useMemo(() => result.data?.pages.toReversed().flatMap((page) => page.messages) ?? [], [result.data]);
  const found = tip === null || messages.some((message) => message.id === tip);
  const { hasNextPage, isFetching, isPlaceholderData, fetchNextPage } = result;
  const pages = result.data?.pages.length ?? 0;
  useEffect(() => {
    if (!found && hasNextPage && !isFetching && !isPlaceholderData && pages < searchAtMost) void fetchNextPage();
  }, [found, hasNextPage, isFetching, isPlaceholderData, pages, fetchNextPage]);
  return { ...result, messages, found };
}

/** Where a message stands among those with the same parent; null where it is the only one. A server that lists none has just their number. */
export function place(message: Pick<Message, "id" | "branch_count" | "siblings">): { at: number | null; of: number; before: MessageID | null; after: MessageID | null } | null {
  if (message.branch_count < 2) return null;
  const all = message.siblings ?? [];
  const at = all.indexOf(message.id);
  if (at < 0) return { at: null, of: message.branch_count, before: null, after: null };
  return { at: at + 1, of: all.length, before: all[at - 1] ?? null, after: all[at + 1] ?? null };
}
