import * as Radix from "@radix-ui/react-tooltip";
import type { ReactElement } from "react";
import { useHost } from "./host";

export const TooltipProvider = Radix.Provider;

/** A word about a control; never the only place where something is said. */
export function Tooltip({ text, side = "bottom", children }: { text: string; side?: "top" | "bottom" | "left" | "right" | undefined; children: ReactElement }) {
  const { trigger, host, onOpenChange } = useHost<HTMLButtonElement>();
  return (
    <Radix.Root onOpenChange={onOpenChange}>
      <Radix.Trigger asChild ref={trigger}>
        {children}
      </Radix.Trigger>
      <Radix.Portal container={host}>
        <Radix.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="animate-fade z-50 max-w-72 rounded-md bg-ink px-2 py-1 text-xs text-page shadow-high"
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
