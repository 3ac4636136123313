import { useState, type ReactNode } from "react";
import type { Upstream } from "@/api/types";
import { useMedia } from "@/app/media";
import { Badge, cx, format, type Tone } from "@/ui";
import { DrainState, Order, useDraining, type Draining } from "./Drain";

const healths: Record<string, { tone: Tone; word: string }> = {
  healthy: { tone: "good", word: "healthy" },
  unhealthy: { tone: "bad", word: "unhealthy" },
  draining: { tone: "warn", word: "draining" },
  unknown: { tone: "neutral", word: "not asked yet" },
};

const protocols: Record<string, string> = { openai: "OpenAI", anthropic: "Anthropic", both: "OpenAI, Anthropic" };

interface Figure {
  label: string;
  /** What the label is short for. */
  means: string;
  value: (upstream: Upstream) => ReactNode;
}

const figures: Figure[] = [
  { label: "In flight", means: "Requests that it is answering now", value: (u) => format.number(u.in_flight) },
  { label: "Pinned", means: "Sessions that stay with it", value: (u) => format.number(u.pinned) },
  { label: "Requests / h", means: "Turns of the last hour", value: (u) => format.number(u.turns_last_hour) },
  { label: "Errors / h", means: "Turns of the last hour that failed", value: (u) => <Errors upstream={u} /> },
  { label: "First byte", means: "Half of the answers of the last hour began within this time", value: (u) => format.duration(u.first_byte_p50_ms) },
  { label: "Half within", means: "Half of the answers of the last hour were whole within this time", value: (u) => format.duration(u.duration_p50_ms) },
  { label: "95 % within", means: "95 % of the answers of the last hour were whole within this time", value: (u) => format.duration(u.duration_p95_ms) },
];

function Errors({ upstream }: { upstream: Upstream }) {
  const { errors_last_hour: errors, turns_last_hour: turns } = upstream;
  if (!errors) return format.number(errors);
  const share = turns ? ` (${Math.round((100 * errors) / turns)} %)` : "";
  return <span className="font-medium text-bad">{format.number(errors)}{share}</span>;
}

/** The upstreams: a table where there is room for one, else cards. Figures are the operators'. */
export function List({ upstreams, operator }: { upstreams: Upstream[]; operator: boolean }) {
  const table = useMedia("(min-width: 64rem)");
  const draining = useDraining(upstreams);
  if (!operator) return <Cards upstreams={upstreams} draining={null} />;
  return (
    <>
      {table ? <Table upstreams={upstreams} draining={draining} /> : <Cards upstreams={upstreams} draining={draining} />}
      {draining.dialog}
    </>
  );
}

/** Without `draining` the reader is no operator. */
function Cards({ upstreams, draining }: { upstreams: Upstream[]; draining: Draining | null }) {
  const operator = draining !== null;
  return (
    <ul className={cx("grid gap-3", !operator && "md:grid-cols-2 xl:grid-cols-3")}>
      {upstreams.map((upstream) => (
        <li key={upstream.name} className="min-w-0 rounded-xl border border-line bg-raised p-4">
          <div className="flex items-start justify-between gap-3">
            <Name upstream={upstream} />
            {draining && <Order upstream={upstream} draining={draining} />}
          </div>
          {operator && (
            <dl className="num mt-3 grid grid-cols-3 gap-x-3 gap-y-2 text-sm sm:grid-cols-4">
              {figures.map(({ label, means, value }) => (
                <div key={label} title={means}>
                  <dt className="text-xs text-faint">{label}</dt>
                  <dd>{value(upstream)}</dd>
                </div>
              ))}
            </dl>
          )}
          <div className="mt-3">
            <Models models={upstream.models} />
          </div>
        </li>
      ))}
    </ul>
  );
}

function Table({ upstreams, draining }: { upstreams: Upstream[]; draining: Draining }) {
  return (
    <div className="overflow-x-auto rounded-xl border border-line bg-raised">
      <table className="w-full text-left text-sm">
        <thead className="text-xs text-faint">
          <tr>
            <th scope="col" className="py-2.5 pr-3 pl-4 font-medium">Upstream</th>
            <th scope="col" className="px-3 py-2.5 font-medium">Models</th>
            {figures.map(({ label, means }) => (
              <th key={label} scope="col" title={means} className="px-3 py-2.5 text-right font-medium whitespace-nowrap">{label}</th>
            ))}
            <th scope="col" className="py-2.5 pr-4 pl-3"><span className="sr-only">Draining</span></th>
          </tr>
        </thead>
        <tbody>
          {upstreams.map((upstream) => (
            <tr key={upstream.name} className="border-t border-line align-top">
              <th scope="row" className="max-w-96 min-w-60 py-3 pr-3 pl-4 font-normal"><Name upstream={upstream} /></th>
              <td className="max-w-72 px-3 py-3"><Models models={upstream.models} /></td>
              {figures.map(({ label, value }) => (
                <td key={label} className="num px-3 py-3 text-right whitespace-nowrap">{value(upstream)}</td>
              ))}
              <td className="py-2.5 pr-4 pl-3 text-right"><Order upstream={upstream} draining={draining} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The name with its health, and for operators where it stands. */
function Name({ upstream }: { upstream: Upstream }) {
  const { tone, word } = healths[upstream.health] ?? { tone: "neutral", word: upstream.health };
  return (
    <div className="min-w-0">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-medium break-words">{upstream.name}</span>
        <Badge tone={tone}>
          <span aria-hidden className="size-1.5 rounded-full bg-current" />
          {word}
        </Badge>
        {upstream.drained && upstream.health !== "draining" && <Badge tone="warn">draining</Badge>}
      </p>
      {upstream.drained && <DrainState upstream={upstream} />}
      {upstream.reason && <p className="mt-1 text-xs text-pretty text-soft">{upstream.reason}</p>}
      {upstream.protocol !== undefined && (
        <p className="mt-1 text-xs wrap-anywhere text-faint">
          {protocols[upstream.protocol] ?? upstream.protocol}, {upstream.url ? upstream.url : "built in"}
        </p>
      )}
    </div>
  );
}

/** A hub may list hundreds: the first ones, and the rest on demand. */
const few = 3;

function Models({ models }: { models: string[] }) {
  const [all, setAll] = useState(false);
  if (models.length === 0) return <span className="text-sm text-faint">no models listed</span>;
  return (
    <div className="flex flex-wrap items-center gap-1">
      {(all ? models : models.slice(0, few)).map((model) =>
        model === "*" ? <span key={model} className="text-sm text-soft">any model</span> : <code key={model} title={model} className="max-w-full truncate rounded-md bg-sunken px-1.5 py-0.5 text-xs">{model}</code>,
      )}
      {models.length > few && (
        <button type="button" aria-expanded={all} onClick={() => setAll(!all)} className="rounded-md px-1.5 py-0.5 text-xs font-medium text-accent hover:underline">
          {all ? "fewer" : `and ${models.length - few} more`}
        </button>
      )}
    </div>
  );
}
