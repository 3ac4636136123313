import { ChevronDown } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { useModels, useUpstreams } from "@/api/hooks";
import type { Session } from "@/api/types";
import { late } from "@/app/late";
import { notFetched } from "@/ui";

const ModelList = late(() => import("./ModelList"));

interface ModelChoiceProps {
  session: Session | null;
  model: string | null;
  onChange: (model: string | null) => void;
}

/** Which model answers next: a list to search in, that takes a name which nobody lists too. */
export function ModelChoice({ session, model, onChange }: ModelChoiceProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const names = useNames(model);
  const standard = session?.models.at(-1) ?? names[0] ?? null;
  const shown = model ?? standard;
  const fetchSoon = () => void ModelList.load().catch(() => {});
  return (
    <>
      <button
        ref={button}
        type="button"
        aria-label={`Model: ${shown ?? "chosen by the server"}`}
        aria-haspopup="dialog"
        aria-expanded={open}
        onPointerEnter={fetchSoon}
        onFocus={fetchSoon}
        onClick={() => (open ? setOpen(false) : void ModelList.load().then(() => setOpen(true), notFetched))}
        className="flex h-9 min-w-0 items-center gap-1 rounded-lg px-2 text-xs font-medium text-soft hover:bg-hover hover:text-ink aria-expanded:bg-hover pointer-coarse:h-10"
      >
        <span className="truncate">{shown ?? "Model"}</span>
        <ChevronDown className="size-3.5 shrink-0" />
      </button>
      {open && (
        <ModelList
          button={button}
          names={names}
          chosen={model}
          standard={session ? "As before" : "Chosen by the server"}
          onChoose={(next) => {
            onChange(next);
            setOpen(false);
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

/** The models that are known by name: those of the configuration, and what the upstreams list. */
function useNames(model: string | null): string[] {
  const upstreams = useUpstreams();
  const listed = useModels();
  return useMemo(() => {
    const configured = (upstreams.data ?? []).flatMap((upstream) => upstream.models).filter((name) => !name.includes("*"));
    return [...new Set([...(model ? [model] : []), ...configured, ...(listed.data ?? [])])];
  }, [upstreams.data, listed.data, model]);
}
