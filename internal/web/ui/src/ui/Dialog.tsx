import { X } from "lucide-react";
import { useEffect, useId, useRef, type ReactNode } from "react";
import { Button } from "./Button";
import { cx } from "./cx";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  className?: string;
}

/** A modal dialog: the browser's own, which holds the focus, closes with Escape and gives the focus back. */
export function Dialog({ open, onClose, title, children, className }: DialogProps) {
  const ref = useModal(open);
  const id = useId();
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
      className={cx(
        "m-auto w-[min(32rem,calc(100vw-2rem))] rounded-2xl border border-line bg-raised p-0 shadow-high backdrop:bg-black/35 open:animate-rise",
        className,
      )}
    >
      {open && (
        <div className="p-5">
          <div className="mb-3 flex items-center justify-between gap-4">
            <h2 id={id} className="text-base font-semibold">{title}</h2>
            {/* Without a tooltip: that would open with the focus, and take the first Escape for itself. */}
            <Button size="sm" look="quiet" aria-label="Close" icon={<X className="size-4" />} onClick={onClose} className="-mr-1.5 w-7 px-0!" />
          </div>
          {children}
        </div>
      )}
    </dialog>
  );
}

/**
 * A panel at the left edge, over the full height. What it holds is kept while it is closed. It is no <dialog>, so that menus and
 * toasts stay within reach; whoever opens it makes the rest of the page inert.
 */
export function Drawer({ open, onClose, label, children }: { open: boolean; onClose: () => void; label: string; children: ReactNode }) {
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const before = document.activeElement;
    panel.current?.focus();
    return () => {
      if (before instanceof HTMLElement) requestAnimationFrame(() => before.focus());
    };
  }, [open]);
  return (
    <div hidden={!open} className="fixed inset-0 z-40">
      <div className="animate-fade absolute inset-0 bg-black/35" onClick={onClose} />
      <div
        ref={panel}
        role="dialog"
        aria-modal="true"
        aria-label={label}
        tabIndex={-1}
        onKeyDown={(event) => event.key === "Escape" && !event.defaultPrevented && onClose()}
        className="animate-slide absolute inset-y-0 left-0 w-[min(20rem,86vw)] border-r border-line bg-canvas shadow-high outline-none"
      >
        {children}
      </div>
    </div>
  );
}

function useModal(open: boolean) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  return ref;
}
