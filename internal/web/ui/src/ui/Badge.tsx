import type { ReactNode } from "react";
import type { TurnState } from "@/api/types";
import { cx } from "./cx";

export type Tone = "neutral" | "accent" | "good" | "warn" | "bad";

const tones: Record<Tone, string> = {
  neutral: "bg-hover text-soft",
  accent: "bg-accent-soft text-accent",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
};

export function Badge({ tone = "neutral", children, className }: { tone?: Tone; children: ReactNode; className?: string }) {
  return <span className={cx("inline-flex items-center gap-1 rounded-md px-1.5 py-0.5 text-xs font-medium whitespace-nowrap", tones[tone], className)}>{children}</span>;
}

const states: Record<TurnState, { tone: Tone; word: string }> = {
  running: { tone: "accent", word: "running" },
  completed: { tone: "good", word: "completed" },
  failed: { tone: "bad", word: "failed" },
  cancelled: { tone: "neutral", word: "stopped" },
  interrupted: { tone: "warn", word: "interrupted" },
};

const dots: Record<Tone, string> = { neutral: "text-faint", accent: "text-accent", good: "text-good", warn: "text-warn", bad: "text-bad" };

/** A turn's or session's state: a word with a dot of its colour, so that colour is never all there is. What is as it should be is quiet. */
export function StateBadge({ state }: { state: TurnState | null }) {
  if (!state) return <span className="text-sm text-faint">no turn yet</span>;
  const { tone, word } = states[state];
  return (
    <span className={cx("inline-flex items-center gap-1.5 text-sm whitespace-nowrap", state === "completed" ? "text-soft" : dots[tone])}>
      <StateDot state={state} />
      {word}
    </span>
  );
}

/** The dot alone; whoever uses it says the state in words too. */
export function StateDot({ state }: { state: TurnState }) {
  return <span aria-hidden className={cx("size-2 shrink-0 rounded-full bg-current", dots[states[state].tone], state === "running" && "animate-soft")} />;
}
