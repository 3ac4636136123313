import type { TurnState } from "@/api/types";

/** What the list shows; all of it stands in the address, so that a view can be kept and shared. */
export interface Filters {
  q: string;
  show: Show;
  client: string;
  project: string;
  upstream: string;
  state: TurnState | "";
}

export type Show = "main" | "archived" | "subagent" | "side" | "all";

export const shows: { value: Show; label: string }[] = [
  { value: "main", label: "Conversations" },
  { value: "archived", label: "Archived" },
  { value: "subagent", label: "Sub-agents" },
  { value: "side", label: "Side requests" },
  { value: "all", label: "Everything" },
];

export const states: { value: TurnState; label: string }[] = [
  { value: "running", label: "Running" },
  { value: "completed", label: "Completed" },
  { value: "failed", label: "Failed" },
  { value: "cancelled", label: "Stopped" },
  { value: "interrupted", label: "Interrupted" },
];

const narrowing = ["client", "project", "upstream", "state"] as const;

/** Reads the address; what it does not know it takes as not said. */
export function parseFilters(search: string | URLSearchParams): Filters {
  const params = new URLSearchParams(search);
  const text = (name: string) => params.get(name) ?? "";
  const state = text("state");
  return {
    q: text("q"),
    show: showOf(text("kind"), text("archived")),
    client: text("client"),
    project: text("project"),
    upstream: text("upstream"),
    state: states.find((one) => one.value === state)?.value ?? "",
  };
}

function showOf(kind: string, archived: string): Show {
  if (archived === "true") return "archived";
  return kind === "subagent" || kind === "side" || kind === "all" ? kind : "main";
}

/** The address's query: what is as usual is left out. */
export function filterParams(filters: Filters): URLSearchParams {
  const params = new URLSearchParams();
  if (filters.q !== "") params.set("q", filters.q);
  if (filters.show === "archived") params.set("archived", "true");
  else if (filters.show !== "main") params.set("kind", filters.show);
  for (const name of narrowing) if (filters[name] !== "") params.set(name, filters[name]);
  return params;
}

/** What the API is asked for the same view. */
export function apiFilters(filters: Filters): Record<string, string | undefined> {
  const { show } = filters;
  return {
    q: filters.q.trim(),
    client: filters.client,
    project: filters.project,
    upstream: filters.upstream,
    state: filters.state,
    kind: show === "all" || show === "archived" ? undefined : show,
    archived: show === "archived" ? "true" : show === "main" ? "false" : undefined,
  };
}

/** How many filters narrow the list, the text aside. */
export const narrowed = (filters: Filters) => narrowing.filter((name) => filters[name] !== "").length + (filters.show === "main" ? 0 : 1);

export const noFilters: Filters = parseFilters("");
