import { useEffect, useRef, type KeyboardEvent } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { themeColor } from "@/app/theme";
import { dots, tick, type Line, type Plot } from "./series";

interface ChartProps {
  plot: Plot;
  /** The middle of each step, in seconds. */
  at: number[];
  /** Where the time axis begins and ends. */
  from: number;
  to: number;
  theme: "light" | "dark";
  /** The step that is looked at, in all charts alike. */
  index: number | null;
  /** That step's time in words. */
  moment: string | null;
  onIndex: (index: number | null) => void;
}

const height = 176;

/** One plot on a canvas. Its figures are read with the pointer or with the arrow keys; a table beside has them all. */
export function Chart({ plot, at, from, to, theme, index, moment, onIndex }: ChartProps) {
  const shown = (line: Line) => {
    const value = index === null ? undefined : line.values[index];
    return value === undefined ? line.whole : plot.format(value);
  };
  const said = `${moment ?? plot.about}: ${plot.lines.map((line) => `${line.label} ${shown(line)}`).join(", ")}`;
  const move = (event: KeyboardEvent) => {
    const last = at.length - 1;
    const here = index ?? last + 1;
    const next = { ArrowLeft: here - 1, ArrowRight: here + 1, PageDown: here - 10, PageUp: here + 10, Home: 0, End: last, Escape: null }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onIndex(next === null ? null : Math.max(0, Math.min(last, next)));
  };
  return (
    <section className="min-w-0 rounded-xl border border-line bg-raised p-4">
      <div className="flex items-baseline justify-between gap-3">
        <h3 className="text-sm font-semibold">{plot.title}</h3>
        <p className="num truncate text-xs text-faint">{moment ?? plot.about}</p>
      </div>
      <ul className="num mt-1 mb-2 flex min-h-5 flex-wrap gap-x-4 gap-y-0.5 text-sm">
        {plot.lines.map((line) => (
          <li key={line.label} className="flex items-center gap-1.5 whitespace-nowrap">
            <Swatch line={line} />
            <span className="text-soft">{line.label}</span>
            <span className="font-medium">{shown(line)}</span>
          </li>
        ))}
      </ul>
      {plot.missing !== undefined ? (
        <p className="flex h-44 items-center justify-center text-center text-sm text-balance text-soft">{plot.missing}</p>
      ) : (
        <div
          role="slider"
          tabIndex={0}
          aria-label={`${plot.title} over time`}
          aria-valuemin={0}
          aria-valuemax={at.length - 1}
          aria-valuenow={index ?? at.length - 1}
          aria-valuetext={said}
          onKeyDown={move}
          onBlur={() => onIndex(null)}
          className="rounded-md"
        >
          <Canvas plot={plot} at={at} from={from} to={to} key={theme} index={index} onIndex={onIndex} />
        </div>
      )}
    </section>
  );
}

const swatches: Record<string, string> = {
  accent: "bg-(--c-accent)", bad: "bg-(--c-bad)", "series-2": "bg-(--c-series-2)", "series-3": "bg-(--c-series-3)",
};

function Swatch({ line }: { line: Line }) {
  return <span aria-hidden className={`${line.look === "bars" ? "size-2.5 rounded-[3px]" : "h-0.5 w-3 rounded-full"} ${swatches[line.color]}`} />;
}

type CanvasProps = Pick<ChartProps, "plot" | "at" | "from" | "to" | "index" | "onIndex">;

/** What uPlot draws. Its colours are read once, so another theme is another canvas. */
function Canvas(props: CanvasProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const now = useRef(props); // what the callbacks of the chart, which are made once, go by
  now.current = props;

  useEffect(() => {
    const element = place.current!;
    const made = new uPlot(options(element.clientWidth, now), dataOf(now.current), element);
    chart.current = made;
    const sizes = new ResizeObserver(() => element.clientWidth > 0 && made.setSize({ width: element.clientWidth, height }));
    sizes.observe(element);
    const leave = () => now.current.onIndex(null);
    made.over.addEventListener("pointerleave", leave);
    return () => {
      sizes.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [props.plot.title]);

  const { plot, at, from, to, index } = props;
  useEffect(() => chart.current?.setData(dataOf({ plot, at })), [plot, at, from, to]);
  useEffect(() => {
    const made = chart.current;
    if (!made) return;
    const left = index === null ? -10 : made.valToPos(at[index]!, "x");
    made.setCursor({ left, top: index === null ? -10 : 0 }, false);
  }, [index, at]);

  return <div ref={place} className="h-44 overflow-hidden" />;
}

const dataOf = ({ plot, at }: Pick<CanvasProps, "plot" | "at">): uPlot.AlignedData => [at, ...plot.lines.map((line) => line.values)];

function options(width: number, now: { current: CanvasProps }): uPlot.Options {
  const { plot } = now.current;
  const quiet = themeColor("faint");
  const line = themeColor("line");
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  return {
    width, height, padding: [8, 6, 0, 0], legend: { show: false }, select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { time: true, range: () => [now.current.from, now.current.to] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    series: [{}, ...plot.lines.map(seriesOf)],
    axes: [
      { stroke: quiet, font, size: 26, gap: 6, space: 58, grid: { show: false }, ticks: { stroke: line, size: 4, width: 1 }, values: (_, splits) => splits.map(tick) },
      {
        stroke: quiet, font, size: 56, gap: 6, space: 34, grid: { stroke: line, width: 1 }, ticks: { show: false },
        values: (_, splits) => splits.map((value) => plot.format(value)), ...(plot.integers && { incrs: whole }),
      },
    ],
    hooks: {
      setCursor: [(chart) => chart.cursor.left! >= 0 && now.current.onIndex(chart.cursor.idx ?? null)],
    },
  };
}

/** 1, 2, 5, 10, … */
const whole = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

function seriesOf(line: Line): uPlot.Series {
  const color = themeColor(line.color);
  if (line.look === "bars") {
    return { label: line.label, fill: color, width: 0, paths: uPlot.paths.bars!({ size: [0.72, 28], radius: 0.15 }), points: { show: false } };
  }
  return {
    label: line.label, stroke: color, width: 1.75,
    points: { show: true, size: 5, fill: color, stroke: color, filter: (chart, series) => dots(chart.data[series] as Line["values"]) },
  };
}
