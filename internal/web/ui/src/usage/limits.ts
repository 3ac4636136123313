import type { UsageRow } from "@/api/types";
import { daysBetween, fullTime, number } from "@/ui/format";

export interface Budget {
  usd: number;
  /** What is spent of it; more than 1 where the last turn went beyond it. */
  share: number;
  state: "within" | "near" | "over";
}

/** How a key stands to its monthly budget; null where it has none. */
export function budgetOf({ limits, spent_usd: spent }: UsageRow): Budget | null {
  const usd = limits?.budget_usd;
  if (!usd || spent === undefined) return null;
  const share = spent / usd;
  return { usd, share, state: share >= 1 ? "over" : share >= 0.8 ? "near" : "within" };
}

export interface Limit {
  text: string;
  title?: string;
  past?: boolean;
}

/** A key's limits but for its budget, each in words; one word where there are none to name. */
export function limitsOf({ name, limits, spent_usd: spent }: UsageRow, now: Date): Limit[] | string {
  if (name === null || spent === undefined) return "–";
  if (!limits) return "not configured any more";
  const all: Limit[] = [];
  const pace = [
    limits.requests_per_minute && `${number(limits.requests_per_minute)} requests a minute`,
    limits.streams && `${number(limits.streams)} at once`,
  ].filter(Boolean);
  if (pace.length > 0) all.push({ text: pace.join(", ") });
  if (limits.models?.length) all.push({ text: limits.models.join(", "), title: limits.models.join(", ") });
  if (limits.expires) all.push(expiry(new Date(limits.expires), now));
  return all.length > 0 ? all : limits.budget_usd ? "the budget alone" : "none";
}

function expiry(at: Date, now: Date): Limit {
  const title = fullTime(at);
  if (at <= now) return { text: "expired", title, past: true };
  const days = daysBetween(now, at);
  if (days === 0) return { text: "expires today", title };
  const year = at.getFullYear() === now.getFullYear() ? {} : ({ year: "numeric" } as const);
  return { text: `until ${at.toLocaleDateString(undefined, { day: "numeric", month: "short", ...year })}`, title };
}
