import { Check, CircleSlash, Equal, Plus, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Evidence, Turn } from "@/api/types";
import { CopyButton, cx, format, StateDot } from "@/ui";
import { allTokens } from "../list";
import { sessionAddress } from "../names";
import { about, attempt, decision, held, outcome, pinning, request, signalName, uses } from "../words";
import { Price } from "../Price";
import { Named } from "./Facts";
import { lasted, waited } from "./bars";

/** Everything that is kept of a turn, in words. */
export function TurnDetail({ turn }: { turn: Turn }) {
  return (
    <div className="grid gap-x-10 gap-y-5 border-t border-line/70 bg-canvas px-4 py-4 text-sm lg:grid-cols-2 lg:px-9">
      <Part title="Why this session">
        <p>{decision(turn.identity)}</p>
        {turn.evidence.length > 0 && (
          <ul className="mt-2.5 flex flex-col gap-2">
            {turn.evidence.map((one, i) => <Signal key={i} evidence={one} session={turn.session_id} />)}
          </ul>
        )}
      </Part>
      <div className="flex flex-col gap-5">
        <Part title="Why this upstream">
          <p>
            {turn.upstream !== null && <strong className="font-medium">{turn.upstream}. </strong>}
            {pinning(turn)}
          </p>
          {turn.account !== null && <p className="mt-1 text-soft">Its account there is {turn.account}.</p>}
          {turn.attempts.length > 0 && (
            <ol className="mt-2.5 flex flex-col gap-1.5">
              {turn.attempts.map((one, i) => (
                <li key={i} className="flex gap-2">
                  <span className="flex h-5 items-center"><StateDot state={one.state} /></span>
                  <span className="min-w-0 break-words text-soft">
                    {turn.attempts.length > 1 && <span className="text-faint">{i + 1}. </span>}
                    {attempt(one)}
                  </span>
                </li>
              ))}
            </ol>
          )}
        </Part>
        <Part title="What happened">
          <p>{request(turn)} {held(turn.view)}</p>
          <p className="mt-1">{outcome(turn)}</p>
          <p className="mt-1 text-soft">
            Began {new Date(turn.started_at).toLocaleString()}
            {turn.first_byte_at !== null && `, first byte after ${format.duration(Math.min(waited(turn) ?? 0, lasted(turn, Date.now())))}`}
            {turn.duration_ms !== null && `, ended after ${format.duration(turn.duration_ms)}`}.
          </p>
          <p className="mt-1 text-soft">
            Cost: <Price use={{ ...turn.usage, cost_usd: turn.cost_usd }} />. {turn.cost_usd === null && unpriced(turn)}
          </p>
          <p className="mt-2 flex flex-wrap items-center gap-x-4 gap-y-1">
            {(turn.answer_id ?? turn.question_id) !== null && (
              <Link href={sessionAddress(turn.session_id, turn.answer_id ?? turn.question_id)} className="font-medium text-accent hover:underline">
                Read its messages
              </Link>
            )}
            <span className="flex min-w-0 items-center gap-1 text-faint">
              <code className="truncate text-xs">{turn.id}</code>
              <CopyButton text={turn.id} label="Copy the turn’s id" className="-my-1" />
            </span>
          </p>
        </Part>
      </div>
    </div>
  );
}

/** Why nobody knows what a turn cost. */
function unpriced(turn: Turn): string {
  if (turn.state === "running") return "It is known at the end.";
  if (allTokens(turn.usage) === null) return "The upstream has told no number of tokens.";
  return "There is no price for this model; `prices:` in the configuration sets one.";
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="min-w-0">
    <h2 className="mb-1.5 font-semibold">{title}</h2>
    {children}
  </section>
);

const marks: Record<Evidence["use"], { icon: LucideIcon; look: string }> = {
  decided: { icon: Check, look: "text-good" },
  agreed: { icon: Equal, look: "text-good" },
  alias: { icon: Plus, look: "text-accent" },
  ignored: { icon: CircleSlash, look: "text-faint" },
  never: { icon: CircleSlash, look: "text-faint" },
};

/** One thing that the request said of itself, and what was made of it. */
function Signal({ evidence, session }: { evidence: Evidence; session: string }) {
  const mark = marks[evidence.use] ?? marks.ignored;
  const what = about(evidence.says);
  const points = evidence.points_to;
  return (
    <li className="flex gap-2">
      <span className={cx("flex h-5 items-center", mark.look)}><mark.icon aria-hidden className="size-3.5" /></span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-baseline gap-x-2">
          <span className="min-w-0 font-medium break-words">{signalName(evidence.signal)}</span>
          {evidence.value && <code className="max-w-full truncate rounded bg-sunken px-1 text-xs" title={evidence.value}>{evidence.value}</code>}
          <span className={mark.look}>{uses[evidence.use] ?? evidence.use}{what && `, for the ${what}`}</span>
        </p>
        {(points || evidence.why) && (
          <p className="text-faint">
            {points === "new" && "New here. "}
            {points && points !== "new" && (points === session ? "It names this session. " : <>It names <Named id={points} />. </>)}
            {evidence.why && `${evidence.why.charAt(0).toUpperCase()}${evidence.why.slice(1).replace(/\.$/, "")}.`}
          </p>
        )}
      </div>
    </li>
  );
}
