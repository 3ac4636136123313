import { CircleAlert, CircleSlash, CloudOff, Hourglass } from "lucide-react";
import type { ReactNode } from "react";
import { Button, cx } from "@/ui";
import { Markdown } from "./Markdown";
import { Bubble, Thinking, ToolCall } from "./Message";
import { pretty } from "./parts";
import type { Question, Run } from "./runs";

/** A sentence about a turn's state, with what can be done about it. */
export function Notice({ tone, icon, children, action }: { tone: "soft" | "bad" | "warn"; icon: ReactNode; children: ReactNode; action?: ReactNode }) {
  return (
    <div
      role={tone === "bad" ? "alert" : "status"}
      className={cx("my-2 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl px-3.5 py-2.5 text-sm", tone === "bad" ? "bg-bad-soft text-bad" : tone === "warn" ? "bg-warn-soft text-warn" : "bg-sunken text-soft")}
    >
      <span className="[&>svg]:size-4">{icon}</span>
      <span className="min-w-0 flex-1 basis-48 break-words">{children}</span>
      {action && <span className="flex gap-2">{action}</span>}
    </div>
  );
}

export function Asked({ question }: { question: Question }) {
  return (
    <article aria-label="You" className="flex justify-end py-3">
      <Bubble>
        {question.text !== "" && <p className="break-words whitespace-pre-wrap">{question.text}</p>}
        {question.pictures.map((picture) => (
          <img key={picture.id} src={picture.url} alt={picture.name} className="my-1 block max-h-72 rounded-xl border border-line" />
        ))}
      </Bubble>
    </article>
  );
}

interface LiveProps {
  run: Run;
  onAgain: () => void;
  onEdit: () => void;
}

/** An answer while it comes. It has the same shape as the stored one, so that nothing moves when that takes its place. */
export function Live({ run, onAgain, onEdit }: LiveProps) {
  const working = run.phase !== "ended";
  const bare = run.text === "" && run.thinking === "" && run.tools.length === 0;
  return (
    <>
      {run.question && <Asked question={run.question} />}
      <article aria-label="Answer" aria-busy={working} className="pt-3 pb-1">
        {run.thinking !== "" && <Thinking text={run.thinking} busy={working && run.text === ""} />}
        {run.text !== "" && <Markdown text={run.text} streaming />}
        {run.tools.map((tool) => (
          <ToolCall key={tool.id} name={tool.name} args={pretty(tool.args)} result={tool.result || null} failed={tool.phase === "error"} busy={working && tool.phase !== "complete" && tool.phase !== "error"} />
        ))}
        <State run={run} bare={bare} onAgain={onAgain} onEdit={onEdit} />
        <div aria-hidden className="mt-0.5 h-7" />
      </article>
    </>
  );
}

function State({ run, bare, onAgain, onEdit }: LiveProps & { bare: boolean }) {
  if (run.stopping && run.phase !== "ended") return <Dots label="Stopping" />;
  switch (run.phase) {
    case "offline":
      return (
        <Notice tone="warn" icon={<CloudOff />}>
          Not sent yet: Mooring cannot be reached. It is sent by itself, once, as soon as it can be.
        </Notice>
      );
    case "queued":
      return (
        <Notice tone="soft" icon={<Hourglass />}>
          Another turn of this session goes first. Yours begins when that has ended.
        </Notice>
      );
    case "sending":
      return <Dots label="Sending" />;
    case "answering":
      return bare ? <Dots label="Waiting for the answer" /> : <span aria-hidden className="animate-soft mt-1 inline-block h-4 w-2 rounded-sm bg-accent" />;
    case "ended":
      break;
  }
  if (run.outcome === "cancelled") return <Notice tone="soft" icon={<CircleSlash />}>Stopped.</Notice>;
  if (run.error && run.outcome !== "completed") {
    return (
      <Notice
        tone="bad"
        icon={<CircleAlert />}
        action={
          run.question &&
          run.outcome === "refused" && (
            <>
              <Button size="sm" onClick={onEdit}>Edit</Button>
              <Button size="sm" onClick={onAgain}>Retry</Button>
            </>
          )
        }
      >
        {run.error.message}
      </Notice>
    );
  }
  return null;
}

function Dots({ label }: { label: string }) {
  return (
    <p className="flex items-center gap-2 text-sm text-faint">
      <span aria-hidden className="flex gap-1">
        <span className="animate-soft size-1.5 rounded-full bg-accent" />
        <span className="animate-soft size-1.5 rounded-full bg-accent [animation-delay:200ms]" />
        <span className="animate-soft size-1.5 rounded-full bg-accent [animation-delay:400ms]" />
      </span>
      {label}
    </p>
  );
}
