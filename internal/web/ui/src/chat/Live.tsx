import { CircleAlert, CircleSlash, CloudOff, Hourglass } from "lucide-react";
import { Button } from "@/ui";
import { Asked } from "./Asked";
import { Markdown } from "./Markdown";
import { Thinking, ToolCall } from "./Message";
import { Notice } from "./Notice";
import { pretty } from "./parts";
import type { Run } from "./runs";

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
