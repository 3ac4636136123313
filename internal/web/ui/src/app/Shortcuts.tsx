import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Dialog } from "@/ui";

const list: [string[], string][] = [
  [["n"], "New chat"],
  [["/"], "Search; the filter of the sessions"],
  [["g", "c"], "Go to chat"],
  [["g", "s"], "Go to sessions"],
  [["g", "u"], "Go to usage"],
  [["↑", "↓"], "Move through sessions and results; Enter opens"],
  [["←", "→"], "Close and open what stands below a session"],
  [["Enter"], "Send (in the composer)"],
  [["Shift", "Enter"], "New line (in the composer)"],
  [["Esc"], "Close what is open; in the composer: stop the answer"],
  [["?"], "This list"],
];

/** Whether a key belongs to something that is typed in. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** The keys of all pages. They never fire while somebody types, nor with a modifier, nor over a dialog or menu. */
export function Shortcuts() {
  const [, go] = useLocation();
  const [help, setHelp] = useState(false);
  useEffect(() => {
    let leader = 0;
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (isTyping(event.target) || document.querySelector("dialog[open], [role=menu]")) return;
      const afterG = Date.now() - leader < 1000;
      leader = event.key === "g" ? Date.now() : 0;
      const act = afterG ? jumps[event.key] : singles[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    const singles: Record<string, () => void> = {
      n: () => go("/"),
      "/": () => go("/search"),
      "?": () => setHelp(true),
    };
    const jumps: Record<string, () => void> = { c: () => go("/"), s: () => go("/sessions"), u: () => go("/usage") };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [go]);
  return (
    <Dialog open={help} onClose={() => setHelp(false)} title="Keyboard">
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-5 gap-y-2 text-sm">
        {list.map(([keys, does]) => (
          <div key={does} className="contents">
            <dt className="flex gap-1">
              {keys.map((key) => (
                <kbd key={key} className="min-w-6 rounded-md border border-line bg-sunken px-1.5 py-0.5 text-center text-xs">{key}</kbd>
              ))}
            </dt>
            <dd className="text-soft">{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
