import { useRef, useState } from "react";

/**
 * Where what floats above a trigger is put: the modal dialog that the trigger stands in, since what is outside of that can be
 * neither seen nor reached; else the page.
 */
export function useHost<T extends HTMLElement>() {
  const trigger = useRef<T>(null);
  const [host, setHost] = useState<HTMLElement | null>(null);
  const onOpenChange = (open: boolean) => {
    if (open) setHost(trigger.current?.closest("dialog") ?? null);
  };
  return { trigger, host, onOpenChange };
}
