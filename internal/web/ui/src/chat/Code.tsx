import { memo, useEffect, useMemo, useState } from "react";
import { CopyButton } from "@/ui";

type Highlight = typeof import("./highlight").highlight;
let loaded: Highlight | null = null;
let loading: Promise<Highlight> | null = null;

const load = () => (loading ??= import("./highlight").then((module) => (loaded = module.highlight)));

/** More than this is shown plain: colouring it would stop the page. */
const longest = 60_000;

/** A code block: its language, a copy button, colours as soon as they are there. Colours change no size. */
export const Code = memo(function Code({ code, language }: { code: string; language: string }) {
  const [highlight, setHighlight] = useState<Highlight | null>(() => loaded);
  const wanted = language !== "" && code.length <= longest;
  useEffect(() => {
    if (!wanted || highlight) return;
    let here = true;
    load().then(
      (fn) => here && setHighlight(() => fn),
      () => {}, // plain code reads well too
    );
    return () => {
      here = false;
    };
  }, [wanted, highlight]);
  const coloured = useMemo(() => (wanted && highlight ? highlight(code, language) : null), [wanted, highlight, code, language]);
  return (
    <div className="code group/code relative my-3 overflow-hidden rounded-xl border border-line bg-sunken">
      <div className="flex h-8 items-center justify-between border-b border-line pr-1 pl-3.5 text-xs text-faint">
        <span>{language || "text"}</span>
        <CopyButton text={code} label="Copy code" className="-my-1" />
      </div>
      <pre tabIndex={0} aria-label={language ? `Code in ${language}` : "Code"} className="overflow-x-auto px-3.5 py-3 text-sm leading-[1.55] -outline-offset-2">
        <code>{coloured ?? code}</code>
      </pre>
    </div>
  );
});
