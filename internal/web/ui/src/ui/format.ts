/** Made with the first use, for that takes 10 ms, and once, for that takes longer than a hundred uses. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const whole = once(() => new Intl.NumberFormat());
const dates = (options: Intl.DateTimeFormatOptions) => once(() => new Intl.DateTimeFormat(undefined, options));
const weekday = dates({ weekday: "long" });
const day = dates({ day: "numeric", month: "short" });
const dayOfYear = dates({ day: "numeric", month: "short", year: "numeric" });
const full = dates({ dateStyle: "full", timeStyle: "long" });

/** 1234567 as "1,234,567" in the reader's own way; what is not known is a dash. */
export const number = (n: number | null | undefined) => (n == null ? "–" : whole().format(n));

/** Tokens short enough for a table: 950, 12.3k, 4.56M. */
export function tokens(n: number | null | undefined): string {
  if (n == null) return "–";
  if (n < 1000) return String(n);
  if (n < 999_950) return `${trim(n / 1000, n < 99_950 ? 1 : 0)}k`;
  if (n < 999_500_000) return `${trim(n / 1e6, 2)}M`;
  return `${trim(n / 1e9, 2)}B`;
}

const trim = (n: number, digits: number) => n.toFixed(digits).replace(/\.0+$|(\.\d*[1-9])0+$/, "$1");

/** Dollars with as many digits as say something: $12.40, $0.023, <$0.0001; null is "unknown", never a guess. */
export function cost(usd: number | null | undefined): string {
  if (usd == null) return "unknown";
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "<$0.0001";
  if (usd < 0.1) return `$${usd.toFixed(4).replace(/0{1,2}$/, "")}`;
  if (usd < 1000) return `$${usd.toFixed(2)}`;
  return `$${whole().format(Math.round(usd))}`;
}

/** 850 ms, 3.4 s, 2 min 5 s, 1 h 12 min */
export function duration(ms: number | null | undefined): string {
  if (ms == null) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${trim(ms / 1000, 1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** How long ago, for people: "now", "5 min", "3 h", "yesterday", then the date. */
export function ago(then: Date, now: Date): string {
  const seconds = (now.getTime() - then.getTime()) / 1000;
  if (seconds < 45) return "now";
  if (seconds < 3570) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400 && then.getDate() === now.getDate()) return `${Math.round(seconds / 3600)} h`;
  const days = daysBetween(then, now);
  if (days === 0) return `${Math.round(seconds / 3600)} h`;
  if (days === 1) return "yesterday";
  if (days < 7) return weekday().format(then);
  return (then.getFullYear() === now.getFullYear() ? day() : dayOfYear()).format(then);
}

/** Calendar days in the reader's zone. */
export function daysBetween(then: Date, now: Date): number {
  const day = (d: Date) => Date.UTC(d.getFullYear(), d.getMonth(), d.getDate());
  return Math.round((day(now) - day(then)) / 86_400_000);
}

/** A moment in full, in the reader's zone, with the zone's name. */
export const fullTime = (when: Date) => full().format(when);
