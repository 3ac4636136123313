import { Brain, ChevronRight, FileText, ImageOff, StickyNote, TerminalSquare, Wrench } from "lucide-react";
import { useState, type ReactNode } from "react";
import type { Block } from "@/chat/parts";
import { cx } from "@/ui";

export type Results = Map<string, Block & { kind: "result" }>;

/** A message as it was sent: this is the record, so its text stands as it is. The chat shows the same with its headings and lists. */
export function Said({ blocks, results }: { blocks: Block[]; results: Results }) {
  if (blocks.length === 0) return <p className="text-sm text-faint">No text is kept.</p>;
  return blocks.map((block, i) => <One key={i} block={block} results={results} />);
}

function One({ block, results }: { block: Block; results: Results }) {
  switch (block.kind) {
    case "text":
      return <Text text={block.text} />;
    case "reminder":
      return <Fold icon={<StickyNote />} title="Note of the client" text={block.text} />;
    case "thinking":
      return <Fold icon={<Brain />} title="Thought" text={block.text} />;
    case "image":
      return block.url ? <img src={block.url} alt="Picture in this message" className="my-1 max-h-60 max-w-full rounded-xl border border-line" /> : <Aside icon={<ImageOff />}>An image that is not kept here</Aside>;
    case "file":
      return <Aside icon={<FileText />}>{block.name}</Aside>;
    case "call": {
      const result = results.get(block.id);
      return <Fold icon={<Wrench />} title={block.name || "Tool"} text={block.args} more={result?.text} failed={result?.failed} />;
    }
    case "result":
      return <Fold icon={<TerminalSquare />} title={block.failed ? "Failed result" : "Result"} text={block.text} failed={block.failed} />;
    case "other":
      return <Fold icon={<FileText />} title={block.name} text={block.json} />;
  }
}

const Aside = ({ icon, children }: { icon: ReactNode; children: ReactNode }) => (
  <p className="my-1 flex items-center gap-2 text-sm text-soft [&>svg]:size-4">
    {icon} {children}
  </p>
);

const longText = 3000;

function Text({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > longText || text.split("\n").length > 40;
  return (
    <>
      <p className={cx("break-words whitespace-pre-wrap", long && !whole && "line-clamp-[18]")}>{text}</p>
      {long && (
        <button type="button" aria-expanded={whole} className="mt-1 text-sm font-medium text-accent hover:underline" onClick={() => setWhole(!whole)}>
          {whole ? "Show less" : "Show all"}
        </button>
      )}
    </>
  );
}

interface FoldProps {
  icon: ReactNode;
  title: string;
  text: string;
  more?: string | undefined;
  failed?: boolean | undefined;
}

/** A part that is read seldom. */
function Fold({ icon, title, text, more, failed }: FoldProps) {
  const [open, setOpen] = useState(false);
  return (
    <details className="group/fold my-1.5 rounded-xl border border-line" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="flex min-h-9 list-none items-center gap-2 rounded-xl px-3 py-1 text-sm text-soft hover:bg-hover [&::-webkit-details-marker]:hidden">
        <span className={cx("[&>svg]:size-4", failed ? "text-bad" : "text-faint")}>{icon}</span>
        <span className="shrink-0 font-medium">{title}</span>
        <span className="min-w-0 truncate text-faint">{text.trim().split("\n", 1)[0]!.slice(0, 160)}</span>
        <ChevronRight aria-hidden className="ml-auto size-4 shrink-0 text-faint transition-transform group-open/fold:rotate-90" />
      </summary>
      {open && (
        <div className="border-t border-line p-2">
          <Raw text={text} label={more === undefined ? title : "Called with"} />
          {more !== undefined && <Raw text={more === "" ? "(nothing)" : more} label={failed ? "Failed with" : "Gave"} />}
        </div>
      )}
    </details>
  );
}

const Raw = ({ text, label }: { text: string; label: string }) => (
  <pre tabIndex={0} aria-label={label} className="max-h-80 overflow-auto rounded-lg bg-sunken px-3 py-2 text-xs leading-relaxed break-words whitespace-pre-wrap not-first:mt-2">
    {text}
  </pre>
);
