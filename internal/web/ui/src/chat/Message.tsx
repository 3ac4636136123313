import { Brain, ChevronLeft, ChevronRight, FileText, ImageOff, Pencil, RotateCcw, StickyNote, TerminalSquare, Wrench } from "lucide-react";
import { memo, useState, type ReactNode } from "react";
import type { Message as Stored, MessageID, Turn } from "@/api/types";
import { Button, CopyButton, cx, IconButton, Spinner } from "@/ui";
import { cost, duration } from "@/ui/format";
import { Bubble } from "./Asked";
import { Markdown } from "./Markdown";
import { typedText, type Block } from "./parts";

export type Results = Map<string, Block & { kind: "result" }>;

/** A part that is folded away until somebody wants it. */
export function Fold({ icon, title, hint, busy, failed, children }: { icon: ReactNode; title: ReactNode; hint?: string; busy?: boolean; failed?: boolean; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="group/fold my-2 rounded-xl border border-line bg-page" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="flex min-h-9 pointer-coarse:min-h-10 list-none items-center gap-2 rounded-xl px-3 py-1.5 text-sm text-soft hover:bg-hover [&::-webkit-details-marker]:hidden">
        <span className={cx("[&>svg]:size-4", failed ? "text-bad" : "text-faint")}>{busy ? <Spinner /> : icon}</span>
        <span className="shrink-0 font-medium">{title}</span>
        {hint && <span className="min-w-0 truncate text-faint">{hint}</span>}
        <ChevronRight aria-hidden className="ml-auto size-4 shrink-0 text-faint transition-transform group-open/fold:rotate-90" />
      </summary>
      {open && <div className="border-t border-line px-3 py-2.5">{children}</div>}
    </details>
  );
}

function Raw({ text, label, failed }: { text: string; label: string; failed?: boolean }) {
  return (
    <div className="not-first:mt-3">
      <div className="mb-1 flex items-center justify-between text-xs text-faint">
        <span className={cx(failed && "font-medium text-bad")}>{label}</span>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0} aria-label={label} className="max-h-80 overflow-auto rounded-lg bg-sunken px-3 py-2 text-xs leading-relaxed break-words whitespace-pre-wrap">{text}</pre>
    </div>
  );
}

const firstLine = (text: string) => text.trim().split("\n", 1)[0]!.slice(0, 160);

/** What a call is about, in a few words: the argument that says most. */
export function gist(args: string): string {
  try {
    const value = JSON.parse(args) as Record<string, unknown>;
    for (const name of ["command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt"]) {
      const one = value[name];
      if (typeof one === "string") return firstLine(one);
      if (Array.isArray(one)) return firstLine(one.join(" "));
    }
    return firstLine(Object.values(value).filter((one) => typeof one === "string").join(" "));
  } catch {
    return firstLine(args);
  }
}

export function Thinking({ text, busy }: { text: string; busy?: boolean }) {
  return (
    <Fold icon={<Brain />} title={busy ? "Thinking" : "Thought"} busy={busy ?? false} {...(busy ? {} : { hint: firstLine(text) })}>
      <p className="text-sm break-words whitespace-pre-wrap text-soft">{text}</p>
    </Fold>
  );
}

export function ToolCall({ name, args, result, failed, busy }: { name: string; args: string; result: string | null; failed?: boolean; busy?: boolean }) {
  return (
    <Fold icon={<Wrench />} title={name || "Tool"} hint={gist(args)} busy={busy ?? false} failed={failed ?? false}>
      {args && <Raw label="Called with" text={args} />}
      {result !== null && <Raw label={failed ? "Failed with" : "Gave"} text={result === "" ? "(nothing)" : result} failed={failed ?? false} />}
      {!args && result === null && <p className="text-sm text-faint">No arguments.</p>}
    </Fold>
  );
}

export function Blocks({ blocks, results, user }: { blocks: Block[]; results?: Results; user?: boolean }) {
  return blocks.map((block, i) => <One key={i} block={block} results={results} user={user} />);
}

function One({ block, results, user }: { block: Block; results: Results | undefined; user: boolean | undefined }) {
  switch (block.kind) {
    case "text":
      return user ? <Typed text={block.text} /> : <Markdown text={block.text} />;
    case "reminder":
      return (
        <Fold icon={<StickyNote />} title="Note of the client">
          <p className="text-sm break-words whitespace-pre-wrap text-soft">{block.text}</p>
        </Fold>
      );
    case "thinking":
      return <Thinking text={block.text} />;
    case "image":
      return block.url ? (
        <a href={block.url} target="_blank" rel="noopener noreferrer" className="my-1 block w-fit">
          <img src={block.url} alt="Picture in this message" className="max-h-72 rounded-xl border border-line" />
        </a>
      ) : (
        <p className="my-1 flex items-center gap-2 text-sm text-faint">
          <ImageOff aria-hidden className="size-4" /> An image that is not kept here
        </p>
      );
    case "file":
      return (
        <p className="my-1 flex items-center gap-2 text-sm text-soft">
          <FileText aria-hidden className="size-4" /> {block.name}
        </p>
      );
    case "call": {
      const result = results?.get(block.id);
      return <ToolCall name={block.name} args={block.args} result={result?.text ?? null} failed={result?.failed ?? false} />;
    }
    case "result":
      return (
        <Fold icon={<TerminalSquare />} title={block.failed ? "Failed result" : "Result"} hint={firstLine(block.text)} failed={block.failed}>
          <Raw label="Gave" text={block.text} failed={block.failed} />
        </Fold>
      );
    case "other":
      return (
        <Fold icon={<FileText />} title={block.name}>
          <Raw label="As it was sent" text={block.json} />
        </Fold>
      );
  }
}

const longText = 1600;

/** What a person typed, as it was typed. Very long texts are folded. */
function Typed({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > longText || text.split("\n").length > 24;
  return (
    <>
      <p className={cx("break-words whitespace-pre-wrap", long && !whole && "line-clamp-12")}>{text}</p>
      {long && (
        <button type="button" className="mt-1 text-sm font-medium text-accent hover:underline" onClick={() => setWhole(!whole)}>
          {whole ? "Show less" : "Show all"}
        </button>
      )}
    </>
  );
}

export interface Actions {
  retry?: ((message: Stored) => void) | undefined;
  edit?: ((message: Stored, text: string) => void) | undefined;
  branch: (to: MessageID) => void;
}

interface MessageProps {
  message: Stored;
  blocks: Block[];
  results: Results;
  turn: Turn | undefined;
  actions: Actions;
  /** The first of several messages of the same side says who speaks. */
  opens: boolean;
}

/** One stored message. */
export const Message = memo(function Message({ message, blocks, results, turn, actions, opens }: MessageProps) {
  const [editing, setEditing] = useState(false);
  if (message.role === "system" || message.role === "developer") {
    return (
      <article aria-label="Instructions" className="py-1">
        <Fold icon={<StickyNote />} title="Instructions" hint={firstLine(message.text)}>
          <p className="max-h-96 overflow-auto text-sm break-words whitespace-pre-wrap text-soft">{message.text}</p>
        </Fold>
      </article>
    );
  }
  const typed = message.role === "user" && blocks.some((block) => block.kind === "text" || block.kind === "image");
  if (message.role === "user" && typed) {
    return (
      <article aria-label="You" className="group/message py-3">
        {editing && actions.edit ? (
          <Editor
            text={typedText(message)}
            onCancel={() => setEditing(false)}
            onSend={(text) => {
              setEditing(false);
              actions.edit!(message, text);
            }}
          />
        ) : (
          <>
            <Blocks blocks={blocks.filter((block) => block.kind === "reminder")} />
            <div className="flex flex-wrap-reverse items-end justify-end gap-x-1.5">
              <Bar>
                <Branches message={message} onGo={actions.branch} />
                <CopyButton text={() => typedText(message)} />
                {actions.edit && (
                  <IconButton label="Edit" size="sm" onClick={() => setEditing(true)}>
                    <Pencil className="size-3.5" />
                  </IconButton>
                )}
              </Bar>
              <Bubble>
                <Blocks blocks={blocks.filter((block) => block.kind !== "reminder")} results={results} user />
              </Bubble>
            </div>
          </>
        )}
      </article>
    );
  }
  const text = blocks.flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("\n\n");
  const final = message.role === "assistant" && text !== "" && !blocks.some((block) => block.kind === "call");
  return (
    <article aria-label={message.role === "assistant" ? "Answer" : message.role} className={cx("group/message", opens ? "pt-3" : "pt-0", "pb-1")}>
      <Blocks blocks={blocks} results={results} />
      {blocks.length === 0 && message.state === "completed" && <p className="text-sm text-faint">An empty answer.</p>}
      {final && (
        <div className="mt-0.5 -ml-1.5">
          <Bar>
          <Branches message={message} onGo={actions.branch} />
          <CopyButton text={text} label="Copy answer" />
          {actions.retry && (
            <IconButton label="Another answer" size="sm" onClick={() => actions.retry!(message)}>
              <RotateCcw className="size-3.5" />
            </IconButton>
          )}
          {turn && <Facts turn={turn} />}
        </Bar>
        </div>
      )}
    </article>
  );
});

function Bar({ children }: { children: ReactNode }) {
  return (
    <div
      className={cx(
        "flex min-h-7 pointer-coarse:min-h-10 items-center gap-0.5 text-faint transition-opacity pointer-fine:opacity-0",
        "focus-within:opacity-100! group-hover/message:opacity-100! has-[.keep]:opacity-100! has-data-[state=open]:opacity-100!",
      )}
    >
      {children}
    </div>
  );
}

/** Which answer this was: the model, how long it took, what it cost. */
function Facts({ turn }: { turn: Turn }) {
  const facts = [turn.model, turn.duration_ms === null ? null : duration(turn.duration_ms), turn.cost_usd === null ? null : cost(turn.cost_usd)].filter(Boolean);
  return <span className="num ml-1.5 truncate text-xs">{facts.join(" · ")}</span>;
}

/** ‹ 2/3 › where a message has others beside it. */
function Branches({ message, onGo }: { message: Stored; onGo: (to: MessageID) => void }) {
  const all = message.siblings ?? [];
  if (all.length < 2) return null;
  const at = all.indexOf(message.id);
  const [before, after] = [all[at - 1], all[at + 1]];
  return (
    <span role="group" aria-label="Branches" className="keep flex items-center text-xs">
      <IconButton label="Previous branch" size="sm" disabled={!before} onClick={() => before && onGo(before)}>
        <ChevronLeft className="size-4" />
      </IconButton>
      <span className="num" aria-live="polite">
        {at + 1}/{all.length}
      </span>
      <IconButton label="Next branch" size="sm" disabled={!after} onClick={() => after && onGo(after)}>
        <ChevronRight className="size-4" />
      </IconButton>
    </span>
  );
}

function Editor({ text, onSend, onCancel }: { text: string; onSend: (text: string) => void; onCancel: () => void }) {
  const [value, setValue] = useState(text);
  const send = () => value.trim() !== "" && onSend(value);
  return (
    <div className="ml-auto w-full rounded-2xl border border-line-strong/60 bg-raised p-3">
      <textarea
        aria-label="Edit the question"
        autoFocus
        value={value}
        rows={Math.min(12, Math.max(2, value.split("\n").length))}
        onFocus={(event) => event.currentTarget.setSelectionRange(value.length, value.length)}
        onChange={(event) => setValue(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onCancel();
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            send();
          }
        }}
        className="block w-full resize-none bg-transparent outline-none"
      />
      <div className="mt-2 flex justify-end gap-2">
        <Button size="sm" look="quiet" onClick={onCancel}>Cancel</Button>
        <Button size="sm" look="primary" disabled={value.trim() === ""} onClick={send}>Send as a new branch</Button>
      </div>
    </div>
  );
}
