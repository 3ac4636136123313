import { useCallback, useLayoutEffect, useRef, useState } from "react";

/** How near to the end a reader still counts as being there. */
const near = 64;

/**
 * Keeps the end of a growing text in sight while the reader is there, and leaves alone whoever has scrolled up. `first` names the first
 * thing shown: when something comes before it, what is read stays where it is.
 */
export function useStick(first: string | undefined) {
  const box = useRef<HTMLDivElement | null>(null);
  const stuck = useRef(true);
  const [away, setAway] = useState(false);
  const before = useRef<{ first: string | undefined; height: number }>({ first, height: 0 });

  const toEnd = useCallback((behavior: ScrollBehavior = "instant") => {
    stuck.current = true;
    setAway(false);
    box.current?.scrollTo({ top: box.current.scrollHeight, behavior });
  }, []);

  const watch = useRef<(() => void) | null>(null);
  const attach = useCallback((element: HTMLDivElement | null) => {
    watch.current?.();
    watch.current = null;
    box.current = element;
    if (!element) return;
    const scrolled = () => {
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      stuck.current = left < near;
      setAway(left > near * 4);
    };
    // Growing text and growing window both: the end stays where it was seen.
    const observer = new ResizeObserver(() => {
      if (stuck.current) element.scrollTop = element.scrollHeight;
      else scrolled();
    });
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    element.addEventListener("scroll", scrolled, { passive: true });
    watch.current = () => {
      observer.disconnect();
      element.removeEventListener("scroll", scrolled);
    };
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const was = before.current;
    if (was.first !== undefined && was.first !== first && !stuck.current) {
      element.scrollTop += element.scrollHeight - was.height;
    }
    before.current = { first, height: element.scrollHeight };
  });

  return { attach, away, toEnd, hold: () => (stuck.current = false) };
}
