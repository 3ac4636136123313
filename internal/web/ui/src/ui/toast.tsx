import { X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { IconButton } from "./Button";

export interface Toast {
  text: string;
  action?: { label: string; run: () => void };
  tone?: "plain" | "bad";
  seconds?: number;
}

let shown: (Toast & { id: number })[] = [];
let last = 0;
const watchers = new Set<() => void>();

function show(next: typeof shown) {
  shown = next;
  watchers.forEach((tell) => tell());
}

/** Says something for a moment; gives a function that takes it back. */
export function toast(message: Toast): () => void {
  const id = ++last;
  const close = () => show(shown.filter((one) => one.id !== id));
  show([...shown.slice(-2), { ...message, id }]);
  setTimeout(close, (message.seconds ?? 6) * 1000);
  return close;
}

/** Where toasts appear; stands once in the shell. */
export function Toaster() {
  const toasts = useSyncExternalStore(
    (tell) => {
      watchers.add(tell);
      return () => void watchers.delete(tell);
    },
    () => shown,
  );
  return (
    <div role="status" aria-live="polite" className="pointer-events-none fixed inset-x-4 bottom-32 z-50 flex flex-col items-center gap-2">
      {toasts.map((one) => (
        <div
          key={one.id}
          className="animate-rise pointer-events-auto flex max-w-full items-center gap-3 rounded-xl bg-ink py-1.5 pr-1.5 pl-4 text-sm text-page shadow-high"
        >
          <span className="min-w-0 py-1 break-words">{one.text}</span>
          {one.action && (
            <button
              type="button"
              className="rounded-lg px-2.5 py-1 font-semibold pointer-coarse:min-h-10 text-page underline-offset-4 outline-page hover:underline"
              onClick={() => {
                one.action!.run();
                show(shown.filter((other) => other.id !== one.id));
              }}
            >
              {one.action.label}
            </button>
          )}
          <IconButton label="Dismiss" size="sm" side="top" className="text-page hover:bg-page/15 hover:text-page outline-page" onClick={() => show(shown.filter((other) => other.id !== one.id))}>
            <X className="size-4" />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
