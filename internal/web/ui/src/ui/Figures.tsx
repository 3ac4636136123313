import { useSyncExternalStore } from "react";
import { ago, cost, fullTime, number, tokens } from "./format";

let now = new Date();
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

/** One clock for all times on the page; it moves twice a minute. */
export function useNow(): Date {
  return useSyncExternalStore(
    (tell) => {
      watchers.add(tell);
      timer ??= setInterval(() => {
        now = new Date();
        watchers.forEach((one) => one());
      }, 30_000);
      return () => {
        watchers.delete(tell);
        if (watchers.size === 0 && timer) {
          clearInterval(timer);
          timer = null;
        }
      };
    },
    () => now,
  );
}

/** How long ago, with the full time in the reader's zone as its title. */
export function RelativeTime({ at, className }: { at: string | null; className?: string }) {
  useNow();
  if (!at) return <span className={className}>–</span>;
  const when = new Date(at);
  return (
    <time dateTime={at} title={fullTime(when)} className={className}>
      {ago(when, new Date())}
    </time>
  );
}

export function Cost({ usd, className }: { usd: number | null; className?: string }) {
  if (usd === null) {
    return <span className={className} title="The price of a model used here is not known. Set it under `prices:` in the configuration.">–</span>;
  }
  return <span className={className} title={`$${usd}`}>{cost(usd)}</span>;
}

export function Tokens({ count, className }: { count: number | null; className?: string }) {
  return <span className={className} title={count === null ? "not told by the upstream" : `${number(count)} tokens`}>{tokens(count)}</span>;
}
