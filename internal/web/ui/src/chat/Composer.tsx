import { ArrowUp, ImagePlus, Square, X } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState, type ClipboardEvent, type KeyboardEvent } from "react";
import { useMe } from "@/api/hooks";
import type { Session } from "@/api/types";
import { cx, IconButton, toast } from "@/ui";
import { draftOf, keepDraft, keepModel, keepPictures, lostOf, modelOf, picturesIn } from "./memory";
import { ModelChoice } from "./ModelChoice";
import { accepted, picturesOf } from "./pictures";
import type { Picture, Run } from "./runs";

export interface Message {
  text: string;
  pictures: Picture[];
  model: string | null;
}

interface ComposerProps {
  /** A session's id, or "new": what the draft and the model belong to. */
  view: string;
  session: Session | null;
  /** The run that is going on here. */
  run: Run | undefined;
  /** Takes a message; false where it cannot be asked yet, and then it stays in the field. */
  onSend: (message: Message) => boolean;
  onStop: () => void;
  /** What was refused and is to be changed: put into the field. */
  restored: { text: string; pictures: Picture[] } | null;
}

export function Composer({ view, session, run, onSend, onStop, restored }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [of, setOf] = useState(view);
  const [text, setText] = useState(() => draftOf(view));
  const [pictures, setPictures] = useState<Picture[]>(() => picturesIn(view));
  const [lost, setLost] = useState(() => lostOf(view));
  const [model, setModel] = useState(() => modelOf(view));
  const [dropping, setDropping] = useState(false);
  if (of !== view) {
    // Another chat: its own draft, pictures and model.
    setOf(view);
    setText(draftOf(view));
    setPictures(picturesIn(view));
    setLost(lostOf(view));
    setModel(modelOf(view));
  }

  const type = (next: string) => {
    setText(next);
    keepDraft(view, next);
  };
  const attach = (next: Picture[]) => {
    setPictures(next);
    keepPictures(view, next);
    setLost([]);
  };

  useEffect(() => {
    if (!restored) return;
    type(restored.text);
    attach(restored.pictures);
    field.current?.focus();
    // eslint-style exhaustive lists would run this with each view; it is for each restored message once.
  }, [restored]);

  useLayoutEffect(() => {
    // The field is as high as its text, up to a third of the window.
    const area = field.current!;
    area.style.height = "";
    if (text !== "") area.style.height = `${Math.min(area.scrollHeight, Math.max(120, innerHeight * 0.34))}px`;
  }, [text, view]);

  useEffect(() => {
    // Ready to type where there is a keyboard; on a phone it would open over the page.
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [view]);

  const busy = run !== undefined && run.phase !== "ended";
  const empty = text.trim() === "" && pictures.length === 0;
  const send = () => {
    if (empty || busy) return;
    if (!onSend({ text: text.trim() === "" ? "" : text, pictures, model })) return;
    setText("");
    keepDraft(view, "");
    attach([]);
    field.current?.focus();
  };
  const add = async (files: Iterable<File>) => {
    const { pictures: fresh, refused } = await picturesOf(files, pictures);
    if (fresh.length > 0) attach([...pictures, ...fresh]);
    refused.forEach((why) => toast({ text: why, tone: "bad", seconds: 8 }));
    field.current?.focus();
  };
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return; // an input method has the key
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && busy) {
      event.preventDefault();
      onStop();
    } else if (event.key === "Tab" && !event.shiftKey && isCommandStart(text)) {
      event.preventDefault();
      type("/new ");
    }
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files].filter((file) => file.type.startsWith("image/"));
    if (files.length === 0) return;
    event.preventDefault();
    void add(files);
  };

  return (
    <div className="mx-auto w-full max-w-3xl px-3 pb-3 md:px-6 md:pb-5">
      <form
        aria-label="Message"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
        onDragOver={(event) => {
          if (!event.dataTransfer.types.includes("Files")) return;
          event.preventDefault();
          setDropping(true);
        }}
        onDragLeave={() => setDropping(false)}
        onDrop={(event) => {
          event.preventDefault();
          setDropping(false);
          void add(event.dataTransfer.files);
        }}
        className={cx(
          "relative rounded-2xl border bg-raised shadow-low transition-colors focus-within:border-accent focus-within:ring-3 focus-within:ring-accent/12",
          dropping ? "border-dashed border-accent" : "border-line-strong/60",
        )}
      >
        <CommandHint text={text} onTake={() => (type("/new "), field.current?.focus())} />
        {lost.length > 0 && (
          <p role="status" className="flex items-start gap-2 px-4 pt-3 text-sm text-warn">
            <span className="min-w-0 flex-1 break-words">
              {lost.length === 1 ? `${lost[0]} was not sent, and is not kept when the page is loaded anew. Add it again.` : `${lost.join(", ")} were not sent, and are not kept when the page is loaded anew. Add them again.`}
            </span>
            <IconButton label="Leave them out" size="sm" side="top" onClick={() => attach([])} className="-my-1">
              <X className="size-4" />
            </IconButton>
          </p>
        )}
        {pictures.length > 0 && (
          <ul aria-label="Images to send" className="flex flex-wrap gap-2 px-3 pt-3">
            {pictures.map((picture) => (
              <li key={picture.id} className="relative">
                <img src={picture.url} alt={picture.name} className="size-16 rounded-lg border border-line object-cover" />
                <button
                  type="button"
                  aria-label={`Remove ${picture.name}`}
                  onClick={() => attach(pictures.filter((one) => one.id !== picture.id))}
                  className="absolute -top-1.5 -right-1.5 flex size-6 items-center justify-center rounded-full bg-ink text-page"
                >
                  <X className="size-3.5" />
                </button>
              </li>
            ))}
          </ul>
        )}
        <textarea
          ref={field}
          aria-label="Message"
          placeholder={dropping ? "Drop the image here" : session ? "Reply" : "Ask anything"}
          rows={1}
          value={text}
          onChange={(event) => type(event.target.value)}
          onKeyDown={press}
          onPaste={paste}
          className="block w-full resize-none bg-transparent px-4 pt-3 pb-1 outline-none pointer-coarse:text-[1rem]"
        />
        <div className="flex items-center gap-1 px-2 pb-2">
          <input
            ref={picker}
            type="file"
            accept={accepted}
            multiple
            hidden
            onChange={(event) => {
              void add([...(event.target.files ?? [])]);
              event.target.value = "";
            }}
          />
          <IconButton label="Add images" side="top" onClick={() => picker.current?.click()}>
            <ImagePlus className="size-4.5" />
          </IconButton>
          <ModelChoice
            session={session}
            model={model}
            onChange={(next) => {
              setModel(next);
              keepModel(view, next);
            }}
          />
          <span className="flex-1" />
          {busy ? (
            <IconButton label={run.stopping ? "Stopping" : run.phase === "offline" ? "Take it back" : "Stop (Esc)"} side="top" look="primary" round disabled={run.stopping} onClick={onStop}>
              <Square className="size-3.5 fill-current" />
            </IconButton>
          ) : (
            <IconButton label="Send" side="top" look="primary" round type="submit" disabled={empty}>
              <ArrowUp className="size-4.5" />
            </IconButton>
          )}
        </div>
      </form>
    </div>
  );
}

const isCommandStart = (text: string) => text !== "" && "/new".startsWith(text);

/** Says what /new does when somebody begins to type it. */
function CommandHint({ text, onTake }: { text: string; onTake: () => void }) {
  const me = useMe();
  const offered = me.data?.commands.includes("new") ?? false;
  if (!offered || !(isCommandStart(text) || /^\/new( |$)/.test(text))) return null;
  return (
    <div className="animate-fade absolute inset-x-0 bottom-full mb-2 rounded-xl border border-line bg-raised p-1 shadow-high">
      <button type="button" onClick={onTake} className="flex w-full items-baseline gap-3 rounded-lg px-3 py-2 text-left text-sm hover:bg-hover">
        <code className="font-semibold text-accent">/new</code>
        <span className="text-soft">begins this chat afresh; what was said before is not sent any more. With text behind it, asks that at once.</span>
      </button>
    </div>
  );
}
