import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { api, query, sessionPath } from "@/api/client";
import { onChange } from "@/api/live";
import type { Session, SessionID, SessionPage } from "@/api/types";
import { useHidden } from "@/chat/removal";
import { apiFilters, filterParams, type Filters } from "./filters";
import { SessionList, type Source } from "./list";

const source: Source = {
  page: (asked) => api<SessionPage>(`/api/sessions${query(asked)}`),
  one: (id) => api<Session>(sessionPath(id)),
};

/** The list of a view, kept live, and the sessions that are about to be deleted. */
export function useList(filters: Filters) {
  const view = filterParams(filters).toString();
  // The view is the filters' text: another object with the same text is the same list.
  const list = useMemo(() => new SessionList(source, apiFilters(filters)), [view]);
  useEffect(() => {
    const stop = list.start();
    const deaf = onChange((change) => list.note(change));
    return () => {
      deaf();
      stop();
    };
  }, [list]);
  const state = useSyncExternalStore(list.subscribe, list.state);
  return { list, state, hidden: useGone(list) };
}

/** Which sessions are as good as deleted. One that no longer is, is read again: meanwhile it may have changed. */
function useGone(list: SessionList): ReadonlySet<SessionID> {
  const hidden = useHidden();
  const before = useRef(hidden);
  useEffect(() => {
    for (const id of before.current) if (!hidden.has(id)) void list.check(id);
    before.current = hidden;
  }, [hidden, list]);
  return hidden;
}
