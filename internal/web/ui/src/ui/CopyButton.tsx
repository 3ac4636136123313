import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "./Button";
import { toast } from "./toast";

/** Puts a text on the clipboard. */
export function CopyButton({ text, label = "Copy", className }: { text: string | (() => string); label?: string; className?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1600);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <IconButton
      label={done ? "Copied" : label}
      size="sm"
      className={className}
      onClick={async () => {
        try {
          await navigator.clipboard.writeText(typeof text === "string" ? text : text());
          setDone(true);
        } catch {
          toast({ text: "The browser did not allow copying. Select the text and copy it by hand.", tone: "bad" });
        }
      }}
    >
      {done ? <Check className="size-4 text-good" /> : <Copy className="size-4" />}
    </IconButton>
  );
}
