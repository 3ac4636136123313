import * as Radix from "@radix-ui/react-menu";
import { useRef, type FocusEvent, type ReactNode, type RefObject } from "react";
import { hostOf } from "./host";
import { MenuParts, type MenuPlace } from "./Menu";

interface MenuBodyProps extends MenuPlace {
  button: RefObject<HTMLButtonElement | null>;
  labelledBy: string;
  /** Opened with the keyboard it begins at its first item. */
  byKey: boolean;
  onClose: () => void;
  children: ReactNode;
}

/**
 * An open menu. It is not modal: Radix locks the scrolling of modal ones with a style element, which the content security policy
 * forbids.
 */
export default function MenuBody({ button, labelledBy, byKey, align, side, onClose, children }: MenuBodyProps) {
  const left = useRef(false); // for something outside of it, which then has the focus
  const begun = useRef(false);
  const begin = (event: FocusEvent<HTMLElement>) => {
    if (begun.current || event.target !== event.currentTarget) return;
    begun.current = true;
    if (byKey) event.currentTarget.querySelector<HTMLElement>("[role^=menuitem]:not([data-disabled])")?.focus();
  };
  return (
    <MenuParts value={Radix}>
      <Radix.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
        <Radix.Anchor virtualRef={button} />
        <Radix.Portal container={hostOf(button.current)}>
          <Radix.Content
            aria-labelledby={labelledBy}
            align={align}
            side={side}
            sideOffset={6}
            collisionPadding={8}
            onFocus={begin}
            onInteractOutside={() => (left.current = true)}
            onCloseAutoFocus={(event) => {
              event.preventDefault();
              // A choice that opened a field has moved the focus there: leave it.
              if (!left.current && !(document.activeElement instanceof HTMLInputElement)) button.current?.focus();
            }}
            className="animate-rise z-50 max-h-(--radix-popper-available-height) min-w-44 overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-high"
          >
            {children}
          </Radix.Content>
        </Radix.Portal>
      </Radix.Root>
    </MenuParts>
  );
}
