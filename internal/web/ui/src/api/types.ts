// The shapes of the session API, as docs/api.md has them.

export type TurnState = "running" | "completed" | "failed" | "cancelled" | "interrupted";
export type Relation = "main" | "subagent" | "fork" | "reset";
export type SessionID = string;
export type MessageID = string;
export type TurnID = string;

export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
}

/** `cost_usd` is null where the price of any part is unknown. */
export interface CostedUsage extends Usage {
  cost_usd: number | null;
}

export interface Session {
  id: SessionID;
  key: string;
  friendly_id: string;
  title: string;
  tenant: string;
  client: string | null;
  project: string | null;
  parent_id: SessionID | null;
  root_id: SessionID;
  relation: Relation;
  state: TurnState | null;
  upstream: string | null;
  models: string[];
  turns: number;
  usage: CostedUsage;
  tree_usage: CostedUsage;
  created_at: string;
  updated_at: string;
  pinned: boolean;
  archived: boolean;
}

export interface SessionPage {
  sessions: Session[];
  next_cursor: string | null;
  total: number;
}

export interface SessionTree extends Session {
  children: SessionTree[];
}

/** A part of a message. Each protocol has its own kinds; only the members that the pages read are named. */
export interface Part {
  type?: string;
  text?: string;
  [member: string]: unknown;
}

export interface Message {
  id: MessageID;
  parent_id: MessageID | null;
  branch_count: number;
  /** The messages with the same parent in order of creation, itself included. */
  siblings?: MessageID[];
  turn_id: TurnID | null;
  role: string;
  content: Part[] | string | null;
  text: string;
  state: TurnState;
  created_at: string;
}

export interface MessagePage {
  session_id: SessionID;
  messages: Message[];
  next_cursor: MessageID | null;
}

export interface Evidence {
  signal: string;
  says: string;
  value?: string | null;
  points_to?: string | null;
  use: "decided" | "agreed" | "alias" | "ignored" | "never";
  why?: string;
}

export interface Attempt {
  upstream: string | null;
  account: string | null;
  state: TurnState;
  status: number | null;
  reason: string | null;
  usage: Usage;
  started_at: string;
  ended_at: string | null;
  duration_ms: number | null;
}

export interface Turn {
  id: TurnID;
  session_id: SessionID;
  kind: string;
  protocol: string;
  model: string | null;
  stream: boolean;
  state: TurnState;
  status: number | null;
  error_code: string | null;
  upstream: string | null;
  account: string | null;
  pin: string | null;
  identity: string;
  evidence: Evidence[];
  attempts: Attempt[];
  usage: Usage;
  cost_usd: number | null;
  started_at: string;
  first_byte_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
  question_id: MessageID | null;
  answer_id: MessageID | null;
  view: unknown;
}

export interface TurnPage {
  turns: Turn[];
  next_cursor: TurnID | null;
}

export interface SearchResult {
  session_id: SessionID;
  key: string;
  title: string;
  message_id: MessageID | null;
  role: string | null;
  snippet: string;
  created_at: string;
}

export interface SearchPage {
  query: string;
  results: SearchResult[];
  degraded: boolean;
}

export interface Me {
  tenant: string;
  /** The name of the key that is used, null where none is needed. */
  key: string | null;
  role: "user" | "operator";
  /** Whether the server has keys configured. */
  keys: boolean;
  /** By the pages' cookie. */
  signed_in: boolean;
  version: string;
  store: string;
  operator_reads: boolean;
  commands: string[];
  transcripts: "full" | "metadata" | string;
}

export interface Upstream {
  name: string;
  health: "healthy" | "unhealthy" | "unknown" | "draining" | string;
  models: string[];
  /** What follows is for operators only. */
  protocol?: "openai" | "anthropic" | "both" | string;
  /** Empty for a built-in model. */
  url?: string;
  in_flight?: number;
  /** The figures of the store are null while that cannot be asked. */
  pinned?: number | null;
  errors_last_hour?: number | null;
  turns_last_hour?: number | null;
  duration_p50_ms?: number | null;
  duration_p95_ms?: number | null;
  first_byte_p50_ms?: number | null;
  reason?: string | null;
  /** Takes no new sessions, on an operator's word. */
  drained?: boolean;
  drained_since?: string | null;
  /** Requests that wait for a place. */
  waiting?: number;
}

/** What the pages read of /api/stats. */
export interface Stats {
  /** The list that prices come from where the configuration has none. */
  prices?: { date: string; source: string; models: number };
}

export interface UsageRow {
  /** Null where there is none: no key, no model, no upstream. */
  name: string | null;
  turns: number;
  failed: number;
  usage: CostedUsage;
  unpriced_turns: number;
  /** Of a key that the reader may know about and the configuration has: those of its limits that are set. */
  limits?: KeyLimits;
  /** What that key has spent in this calendar month. */
  spent_usd?: number;
}

export interface KeyLimits {
  requests_per_minute?: number;
  streams?: number;
  budget_usd?: number;
  models?: string[];
  expires?: string;
}

export interface UsageReport {
  from: string;
  to: string;
  by: "key" | "model" | "day" | "upstream";
  rows: UsageRow[];
  total: Omit<UsageRow, "name">;
}

export interface SeriesPoint {
  at: string;
  turns: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cost_usd: number | null;
  /** Of the turns whose cost is known. */
  priced_usd: number;
  unpriced_turns: number;
  first_byte_p50_ms: number | null;
  duration_p50_ms: number | null;
  duration_p95_ms: number | null;
}

export interface Series {
  span: "1h" | "24h" | "7d" | "30d";
  from: string;
  to: string;
  step_seconds: number;
  points: SeriesPoint[];
}

/** A slot of the tenant edge, as operators see it. */
export interface Place {
  slot: string;
  state: "free" | "claimed" | "draining" | "quarantined" | string;
  /** The tenant key; empty where it has none. */
  tenant: string;
  key_id: string;
  epoch: number;
  claimed_at: string | null;
  seen_at: string | null;
  note: string;
  configured: boolean;
  url: string;
  in_flight: number;
  /** "up", or why not. */
  health: string;
}
