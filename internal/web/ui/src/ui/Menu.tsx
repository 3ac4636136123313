import * as Radix from "@radix-ui/react-dropdown-menu";
import { Check } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { cx } from "./cx";
import { useHost } from "./host";

interface MenuProps {
  trigger: ReactElement;
  children: ReactNode;
  align?: "start" | "center" | "end";
  side?: "top" | "bottom" | "right";
}

/**
 * A menu below (or beside) its trigger. It is not modal: Radix locks the scrolling of modal ones with a style element,
 * which the content security policy forbids.
 */
export function Menu({ trigger, children, align = "end", side = "bottom" }: MenuProps) {
  const { trigger: ref, host, onOpenChange } = useHost<HTMLButtonElement>();
  return (
    <Radix.Root modal={false} onOpenChange={onOpenChange}>
      <Radix.Trigger asChild ref={ref}>
        {trigger}
      </Radix.Trigger>
      <Radix.Portal container={host}>
        <Radix.Content
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          onCloseAutoFocus={(event) => {
            // A choice that opened a field has moved the focus there: leave it.
            if (document.activeElement instanceof HTMLInputElement) event.preventDefault();
          }}
          className="animate-rise z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-44 overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-high"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

const item =
  "flex min-h-8 pointer-coarse:min-h-10 cursor-pointer select-none items-center gap-2.5 rounded-lg px-2.5 py-1 text-sm outline-none data-[disabled]:opacity-45 data-[highlighted]:bg-hover";

export function MenuItem({ icon, danger, onSelect, disabled, children }: { icon?: ReactNode; danger?: boolean; onSelect: () => void; disabled?: boolean; children: ReactNode }) {
  return (
    <Radix.Item className={cx(item, danger && "text-bad")} onSelect={onSelect} disabled={disabled ?? false}>
      {icon && <span className="text-faint [&>svg]:size-4">{icon}</span>}
      {children}
    </Radix.Item>
  );
}

export function MenuLink({ icon, href, children, download }: { icon?: ReactNode; href: string; children: ReactNode; download?: boolean }) {
  return (
    <Radix.Item asChild>
      <a href={href} download={download} className={item}>
        {icon && <span className="text-faint [&>svg]:size-4">{icon}</span>}
        {children}
      </a>
    </Radix.Item>
  );
}

/** One of several, the chosen one marked. */
export function MenuChoice<T extends string>({ value, onChange, options }: { value: T; onChange: (value: T) => void; options: { value: T; label: ReactNode }[] }) {
  return (
    <Radix.RadioGroup value={value} onValueChange={(next) => onChange(next as T)}>
      {options.map((option) => (
        <Radix.RadioItem key={option.value} value={option.value} className={cx(item, "pl-8 relative")}>
          <Radix.ItemIndicator className="absolute left-2.5 text-accent">
            <Check className="size-4" />
          </Radix.ItemIndicator>
          {option.label}
        </Radix.RadioItem>
      ))}
    </Radix.RadioGroup>
  );
}

export const MenuLabel = ({ children }: { children: ReactNode }) => <Radix.Label className="px-2.5 pt-1.5 pb-1 text-xs text-faint">{children}</Radix.Label>;
export const MenuLine = () => <Radix.Separator className="mx-1 my-1 h-px bg-line" />;
