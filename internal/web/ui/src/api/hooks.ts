import { useQuery } from "@tanstack/react-query";
import { api, sessionPath } from "./client";
import { keys } from "./keys";
import type { Me, Session, Upstream } from "./types";

/** Who is asking, and what this server offers them. */
export function useMe() {
  return useQuery({ queryKey: keys.me, queryFn: ({ signal }) => api<Me>("/api/me", { signal }), staleTime: 60_000 });
}

/** A session by its id or key. */
export function useSession(id: string | null) {
  return useQuery({
    queryKey: keys.session(id ?? ""),
    queryFn: ({ signal }) => api<Session>(sessionPath(id!), { signal }),
    enabled: id !== null,
  });
}

/** What the upstreams list. */
export function useModels() {
  return useQuery({
    queryKey: keys.models,
    queryFn: async ({ signal }) => {
      const list = await api<{ data: { id: string }[] }>("/api/models", { signal });
      return [...new Set(list.data.map((model) => model.id))];
    },
    staleTime: 60_000,
  });
}

/** The upstreams, read again every `pace` milliseconds: no event says how they are. */
export function useUpstreams(pace = 15_000) {
  return useQuery({
    queryKey: keys.upstreams,
    queryFn: async ({ signal }) => (await api<{ upstreams: Upstream[] }>("/api/upstreams", { signal })).upstreams,
    refetchInterval: pace,
  });
}
