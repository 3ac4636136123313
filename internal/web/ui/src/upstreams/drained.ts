import type { Upstream } from "@/api/types";
import { number } from "@/ui/format";

const count = (n: number, one: string, many: string) => `${number(n)} ${n === 1 ? one : many}`;

/** What a drained upstream still has, as a sentence. */
export function left({ pinned, in_flight: running = 0, waiting = 0 }: Upstream): string {
  const requests = running + waiting;
  if (pinned == null) return requests > 0 ? `${count(requests, "request is", "requests are")} left.` : "How many of its sessions are left is not known.";
  if (pinned === 0 && requests === 0) return "It is empty and can be taken away.";
  const parts = [pinned > 0 && count(pinned, "session", "sessions"), requests > 0 && count(requests, "request", "requests")].filter(Boolean);
  return `${parts.join(" and ")} ${pinned + requests === 1 ? "is" : "are"} left.`;
}

/** The models that no other upstream has which takes new sessions, in words; a pattern counts as had where another one is as wide. */
export function onlyHere(upstream: Upstream, all: Upstream[]): string[] {
  const others = all.filter((one) => one.name !== upstream.name && !one.drained).flatMap((one) => one.models);
  const alone = upstream.models.filter((model) => !others.some((pattern) => matches(pattern, model)));
  if (alone.includes("*")) return [alone.length > 1 || others.length > 0 ? "all its models" : "any model"];
  return alone.length > 4 ? [...alone.slice(0, 3), `${alone.length - 3} more`] : alone;
}

function matches(pattern: string, model: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(model);
}
