// The cache's keys. What is below a session begins with ["session", id], so one call makes all of it fresh.

export type Filters = Record<string, string | number | undefined>;

export const keys = {
  me: ["me"] as const,
  models: ["models"] as const,
  stats: ["stats"] as const,
  upstreams: ["upstreams"] as const,
  tenants: ["tenants"] as const,
  allSessions: ["sessions"] as const,
  sessions: (filters: Filters = {}) => ["sessions", filters] as const,
  session: (id: string) => ["session", id] as const,
  messages: (id: string, tip?: string) => ["session", id, "messages", tip ?? ""] as const,
  turns: (id: string) => ["session", id, "turns"] as const,
  tree: (id: string) => ["session", id, "tree"] as const,
  turn: (id: string) => ["turn", id] as const,
  search: (q: string) => ["search", q] as const,
  usage: (filters: Filters) => ["usage", filters] as const,
  series: (filters: Filters) => ["series", filters] as const,
};
