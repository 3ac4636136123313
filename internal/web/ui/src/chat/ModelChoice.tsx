import * as Popover from "@radix-ui/react-popover";
import { Check, ChevronDown, Search } from "lucide-react";
import { useId, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useModels, useUpstreams } from "@/api/hooks";
import type { Session } from "@/api/types";
import { cx, useHost } from "@/ui";
import { choices, type Choice } from "./models";

interface ModelChoiceProps {
  session: Session | null;
  model: string | null;
  onChange: (model: string | null) => void;
}

/** Which model answers next: a list to search in, that takes a name which nobody lists too. */
export function ModelChoice({ session, model, onChange }: ModelChoiceProps) {
  const [open, setOpen] = useState(false);
  const { trigger, host, onOpenChange } = useHost<HTMLButtonElement>();
  const names = useNames(model);
  const standard = session?.models.at(-1) ?? names[0] ?? null;
  const shown = model ?? standard;
  const change = (next: boolean) => {
    onOpenChange(next);
    setOpen(next);
  };
  return (
    <Popover.Root open={open} onOpenChange={change}>
      <Popover.Trigger
        ref={trigger}
        type="button"
        aria-label={`Model: ${shown ?? "chosen by the server"}`}
        className="flex h-9 min-w-0 items-center gap-1 rounded-lg px-2 text-xs font-medium text-soft hover:bg-hover hover:text-ink data-[state=open]:bg-hover pointer-coarse:h-10"
      >
        <span className="truncate">{shown ?? "Model"}</span>
        <ChevronDown className="size-3.5 shrink-0" />
      </Popover.Trigger>
      <Popover.Portal container={host}>
        <Popover.Content
          aria-label="Model"
          side="top"
          align="start"
          sideOffset={6}
          collisionPadding={8}
          className="animate-rise z-50 flex max-h-[min(24rem,var(--radix-popover-content-available-height))] w-[min(20rem,calc(100vw-1rem))] flex-col rounded-xl border border-line bg-raised shadow-high"
        >
          <Models
            names={names}
            chosen={model}
            standard={session ? "As before" : "Chosen by the server"}
            onChoose={(next) => {
              onChange(next);
              change(false);
            }}
          />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function Models({ names, chosen, standard, onChoose }: { names: string[]; chosen: string | null; standard: string; onChoose: (model: string | null) => void }) {
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

/** The models that are known by name: those of the configuration, and what the upstreams list. */
function useNames(model: string | null): string[] {
  const upstreams = useUpstreams();
  const listed = useModels();
  return useMemo(() => {
    const configured = (upstreams.data ?? []).flatMap((upstream) => upstream.models).filter((name) => !name.includes("*"));
    return [...new Set([...(model ? [model] : []), ...configured, ...(listed.data ?? [])])];
  }, [upstreams.data, listed.data, model]);
}
