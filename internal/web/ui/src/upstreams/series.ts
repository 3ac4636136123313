import type { Series, SeriesPoint } from "@/api/types";
import { format } from "@/ui";

export type Span = Series["span"];

export const spans: { value: Span; label: string; words: string }[] = [
  { value: "1h", label: "1 h", words: "last hour" },
  { value: "24h", label: "24 h", words: "last 24 hours" },
  { value: "7d", label: "7 d", words: "last 7 days" },
  { value: "30d", label: "30 d", words: "last 30 days" },
];

/** The span that an address asks for; the day where it asks for none that there is. */
export const spanOf = (text: string | null): Span => spans.find((span) => span.value === text)?.value ?? "24h";

/** One set of figures in a plot. */
export interface Line {
  label: string;
  /** A token of the palette. */
  color: string;
  look: "bars" | "line";
  values: (number | null)[];
  /** What is shown while no moment is looked at. */
  whole: string;
}

export interface Plot {
  title: string;
  lines: Line[];
  format: (value: number | null) => string;
  /** Figures between 1 and 2 would say nothing. */
  integers: boolean;
  /** What `whole` of the lines is about. */
  about: string;
  /** Said in place of a plot that would show nothing where something was. */
  missing?: string;
}

/** The four plots of a series. */
export function plotsOf(series: Series): Plot[] {
  const { points } = series;
  const over = spans.find((span) => span.value === series.span)?.words ?? "";
  const column = (of: (point: SeriesPoint) => number | null) => points.map(of);
  const counted = (label: string, color: string, look: Line["look"], of: (point: SeriesPoint) => number, show: (n: number) => string): Line => {
    const values = column(of);
    return { label, color, look, values, whole: show(sum(values)) };
  };
  const timed = (label: string, color: string, of: (point: SeriesPoint) => number | null): Line => {
    const values = column(of);
    return { label, color, look: "line", values, whole: format.duration(values.findLast((value) => value !== null)) };
  };
  const spent = costOf(points);
  return [
    {
      title: "Requests", integers: true, format: format.tokens, about: over,
      lines: [
        counted("All", "accent", "bars", (point) => point.turns, format.number),
        counted("Failed", "bad", "bars", (point) => point.failed, format.number),
      ],
    },
    {
      title: "Tokens", integers: true, format: format.tokens, about: over,
      lines: [
        counted("Input", "accent", "line", (point) => point.input_tokens, format.tokens),
        counted("Output", "series-2", "line", (point) => point.output_tokens, format.tokens),
        counted("Cache reads", "series-3", "line", (point) => point.cache_read_tokens, format.tokens),
      ],
    },
    {
      title: "Cost", integers: false, format: format.cost, about: over,
      lines: [{ label: "US dollars", color: "accent", look: "bars", values: column((point) => point.priced_usd), whole: spent }],
      ...(spent === format.cost(null) && { missing: "No price is known for the models that were used." }),
    },
    {
      title: "Time to answer", integers: true, format: format.duration, about: "latest",
      lines: [
        timed("Half within", "accent", (point) => point.duration_p50_ms),
        timed("95 % within", "series-2", (point) => point.duration_p95_ms),
        timed("First byte, half within", "series-3", (point) => point.first_byte_p50_ms),
      ],
    },
  ];
}

const sum = (values: (number | null)[]) => values.reduce<number>((all, value) => all + (value ?? 0), 0);

/** The cost of all points; where the price of a part is unknown that is a lower bound, and where all is, unknown. */
export function costOf(points: SeriesPoint[]): string {
  const unpriced = sum(points.map((point) => point.unpriced_turns));
  const priced = sum(points.map((point) => point.priced_usd));
  if (unpriced > 0 && priced === 0) return format.cost(null);
  return unpriced > 0 ? `at least ${format.cost(priced)}` : format.cost(priced);
}

/** The points that are drawn as such: those that no line reaches, and all where most lines would be stumps. */
export function dots(values: (number | null | undefined)[]): number[] {
  const there = (i: number) => values[i] != null;
  const known = values.flatMap((_, i) => (there(i) ? [i] : []));
  return known.length < 0.7 * values.length ? known : known.filter((i) => !there(i - 1) && !there(i + 1));
}

/** A tick of the time axis in the reader's zone: the day at midnight, else the hour. */
export function tick(seconds: number): string {
  const when = new Date(seconds * 1000);
  return when.getHours() === 0 && when.getMinutes() === 0
    ? when.toLocaleDateString(undefined, { day: "numeric", month: "short" })
    : when.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}

/** The time that a point stands for, in the reader's zone. */
export function stepOf(point: SeriesPoint, seconds: number): string {
  const from = new Date(point.at);
  const to = new Date(from.getTime() + seconds * 1000);
  const day = from.toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short" });
  if (seconds >= 86_400) return day;
  const clock = (when: Date) => when.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return `${day}, ${clock(from)}–${clock(to)}`;
}
