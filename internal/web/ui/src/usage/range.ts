/** Days as "2026-11-30", both included; the server counts days in UTC. */
export interface Range {
  from: string;
  to: string;
}

const DAY = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const start = (day: string) => Date.parse(`${day}T00:00:00Z`);

/** Whether a text is a day that exists. */
const isDay = (text: string | null): text is string => text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(start(text)) && iso(start(text)) === text;

export interface Preset extends Range {
  label: string;
}

/** Ranges to choose by one press; the first is what is shown when none was chosen. */
export function presets(now: Date): Preset[] {
  const today = iso(now.getTime());
  const last = (days: number) => iso(now.getTime() - (days - 1) * DAY);
  const month = `${today.slice(0, 8)}01`;
  const monthBefore = iso(start(month) - DAY);
  return [
    { label: "Last 30 days", from: last(30), to: today },
    { label: "Last 7 days", from: last(7), to: today },
    { label: "Today", from: today, to: today },
    { label: "This month", from: month, to: today },
    { label: "Last month", from: `${monthBefore.slice(0, 8)}01`, to: monthBefore },
  ];
}

/** The range that an address asks for; what is no day is taken from the first preset, and an end before its beginning is that day alone. */
export function rangeOf(from: string | null, to: string | null, now: Date): Range {
  const usual = presets(now)[0]!;
  const end = isDay(to) ? to : usual.to;
  const begin = isDay(from) ? from : end < usual.from ? end : usual.from;
  return begin > end ? { from: begin, to: begin } : { from: begin, to: end };
}

/** The range as the API wants it: moments, the end not included. */
export const moments = ({ from, to }: Range) => ({ from: `${from}T00:00:00Z`, to: `${iso(start(to) + DAY)}T00:00:00Z` });
