import { useMemo, useState } from "react";
import type { Series } from "@/api/types";
import { useShownTheme } from "@/app/theme";
import { Chart } from "./Chart";
import { plotsOf, stepOf } from "./series";
import { SeriesTable } from "./SeriesTable";

/** The charts of a series. They come with a library of their own, so the page loads them when it shows them. */
export default function Charts({ series }: { series: Series }) {
  const theme = useShownTheme();
  const [index, setIndex] = useState<number | null>(null);
  const plots = useMemo(() => plotsOf(series), [series]);
  const step = series.step_seconds;
  const at = useMemo(() => series.points.map((point) => Date.parse(point.at) / 1000 + step / 2), [series, step]);
  const first = at[0];
  const last = at.at(-1);
  if (first === undefined || last === undefined) return null;
  const point = index === null ? undefined : series.points[index];
  return (
    <>
      <div className="grid gap-4 lg:grid-cols-2">
        {plots.map((plot) => (
          <Chart
            key={plot.title}
            plot={plot}
            at={at}
            from={first - step / 2}
            to={last + step / 2}
            theme={theme}
            index={point ? index : null}
            moment={point ? stepOf(point, step) : null}
            onIndex={setIndex}
          />
        ))}
      </div>
      <SeriesTable series={series} />
    </>
  );
}
