import { useRef, useState } from "react";

/**
 * Where what floats above a trigger is put: into the dialog or landmark that the trigger stands in. What is outside of a modal
 * dialog can be neither seen nor reached, and what is outside of all landmarks is missed by whoever goes from one to the next.
 */
export function useHost<T extends HTMLElement>() {
  const trigger = useRef<T>(null);
  const [host, setHost] = useState<HTMLElement | null>(null);
  const onOpenChange = (open: boolean) => {
    if (open) setHost(trigger.current?.closest<HTMLElement>("dialog, [role=dialog], aside, nav, header, main") ?? null);
  };
  return { trigger, host, onOpenChange };
}
