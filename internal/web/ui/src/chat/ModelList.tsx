import * as Popover from "@radix-ui/react-popover";
import { Check, Search } from "lucide-react";
import { useId, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { cx } from "@/ui";
import { hostOf } from "@/ui/host";
import { choices, type Choice } from "./models";

interface ModelListProps {
  button: RefObject<HTMLButtonElement | null>;
  names: string[];
  chosen: string | null;
  /** What the line without a choice says. */
  standard: string;
  onChoose: (model: string | null) => void;
  onClose: () => void;
}

/** The open list of models, above its button. */
export default function ModelList({ button, onClose, ...list }: ModelListProps) {
  const left = useRef(false); // for something outside of it, which then has the focus
  return (
    <Popover.Root open onOpenChange={(open) => !open && onClose()}>
      <Popover.Anchor virtualRef={button} />
      <Popover.Portal container={hostOf(button.current)}>
        <Popover.Content
          aria-label="Model"
          side="top"
          align="start"
          sideOffset={6}
          collisionPadding={8}
          onInteractOutside={(event) => {
            // The button closes it by itself.
            if (button.current?.contains(event.target as Node)) event.preventDefault();
            else left.current = true;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (!left.current) button.current?.focus();
          }}
          className="animate-rise z-50 flex max-h-[min(24rem,var(--radix-popover-content-available-height))] w-[min(20rem,calc(100vw-1rem))] flex-col rounded-xl border border-line bg-raised shadow-high"
        >
          <Models {...list} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function Models({ names, chosen, standard, onChoose }: Omit<ModelListProps, "button" | "onClose">) {
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const shown = useMemo(() => choices(names, text), [names, text]);
  const move = (to: number) => {
    const next = Math.min(Math.max(to, 0), shown.length - 1);
    setAt(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8 }[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && shown[at]) onChoose(shown[at].model);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className="relative shrink-0 border-b border-line">
        <Search aria-hidden className="pointer-events-none absolute top-1/2 left-3.5 size-4 -translate-y-1/2 text-faint" />
        <input
          role="combobox"
          aria-label="Find a model"
          aria-expanded
          aria-controls={id}
          aria-activedescendant={shown[at] && `${id}-${at}`}
          aria-autocomplete="list"
          placeholder="Find a model, or name one"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={press}
          className="h-10 w-full rounded-t-xl bg-transparent pr-3 pl-9.5 text-sm outline-none pointer-coarse:text-[1rem]"
        />
      </div>
      <ul ref={list} id={id} role="listbox" aria-label="Models" className="min-h-0 flex-1 overflow-y-auto overscroll-contain p-1">
        {shown.map((one, i) => (
          <li
            key={one.model ?? ""}
            id={`${id}-${i}`}
            role="option"
            aria-selected={one.model === chosen}
            onPointerMove={() => setAt(i)}
            onClick={() => onChoose(one.model)}
            className={cx("flex min-h-8 cursor-pointer items-center gap-2 rounded-lg px-2.5 py-1 text-sm pointer-coarse:min-h-10", i === at && "bg-hover")}
          >
            <Check aria-hidden className={cx("size-4 shrink-0 text-accent", one.model !== chosen && "invisible")} />
            <span className="min-w-0 break-words">{labelOf(one, standard)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

const labelOf = (one: Choice, standard: string) => (one.model === null ? standard : one.listed ? one.model : `Ask for “${one.model}”`);
