import { useEffect, useRef } from "react";
import { place, type Side } from "./place";

/**
 * A word about a control, as attributes of its element; never the only place where something is said. One element for the whole page
 * shows them, so that a button in a list of hundreds costs no more for having one.
 */
export const tip = (text: string, side: Side = "bottom") => ({ "data-tip": text, "data-tip-side": side });

const pause = 400; // ms that a pointer rests before a word is said
const swift = 300; // ms after one went in which the next comes at once

/** Where they are shown; stands once beside the page. */
export function Tooltips() {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => watch(ref.current!), []);
  // As a popover it is above modal dialogs too; a browser without them shows it above the page.
  return <div ref={ref} id="tip" role="tooltip" popover="manual" hidden className="animate-fade pointer-events-auto fixed inset-auto z-50 m-0 max-w-72 rounded-md border-0 bg-ink px-2 py-1 text-xs text-page shadow-high" />;
}

function watch(tip: HTMLElement): () => void {
  let about: HTMLElement | null = null; // what it is shown for, or is about to be
  let timer: ReturnType<typeof setTimeout> | undefined;
  let left = 0;

  const hide = () => {
    clearTimeout(timer);
    about?.removeAttribute("aria-describedby");
    about = null;
    if (tip.hidden) return;
    left = performance.now();
    tip.hidden = true;
    if ("hidePopover" in tip && tip.matches(":popover-open")) tip.hidePopover();
  };
  const show = () => {
    const text = about?.dataset["tip"];
    if (!about?.isConnected || !text) return hide();
    tip.textContent = text;
    tip.style.left = tip.style.top = "0";
    tip.hidden = false;
    if ("showPopover" in tip && !tip.matches(":popover-open")) tip.showPopover();
    const at = place(about.getBoundingClientRect(), tip.getBoundingClientRect(), about.dataset["tipSide"] as Side, { width: innerWidth, height: innerHeight });
    tip.style.left = `${at.left}px`;
    tip.style.top = `${at.top}px`;
    if (about.getAttribute("aria-label") !== text) about.setAttribute("aria-describedby", tip.id);
  };
  const showFor = (element: HTMLElement, after: number) => {
    if (about === element) return;
    hide();
    about = element;
    timer = setTimeout(show, performance.now() - left < swift ? 0 : after);
  };
  const tipped = (target: EventTarget | null) => (target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null);

  const over = (event: PointerEvent) => {
    if (event.pointerType === "touch" || event.target === tip) return;
    const element = tipped(event.target);
    if (element && element.dataset["state"] !== "open") showFor(element, pause);
    else if (!about?.matches(":focus-visible")) hide();
  };
  const focus = (event: FocusEvent) => {
    const element = tipped(event.target);
    if (element?.matches(":focus-visible")) showFor(element, 0);
    else hide();
  };
  const key = (event: KeyboardEvent) => {
    // The first Escape is for the tooltip of what has the focus.
    if (event.key === "Escape" && !tip.hidden && about === document.activeElement) {
      event.preventDefault();
      event.stopPropagation();
    }
    hide();
  };
  document.addEventListener("pointerover", over);
  document.addEventListener("pointerdown", hide, true);
  document.addEventListener("focusin", focus);
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", key, true);
  addEventListener("scroll", hide, true);
  addEventListener("blur", hide);
  return () => {
    hide();
    document.removeEventListener("pointerover", over);
    document.removeEventListener("pointerdown", hide, true);
    document.removeEventListener("focusin", focus);
    document.removeEventListener("focusout", hide);
    document.removeEventListener("keydown", key, true);
    removeEventListener("scroll", hide, true);
    removeEventListener("blur", hide);
  };
}
