import type { ComponentProps, ReactNode } from "react";
import { cx } from "./cx";

export interface InputProps extends ComponentProps<"input"> {
  icon?: ReactNode;
}

/** A field of one line. It needs an aria-label or a <label>. Phones that zoom into smaller text than 1rem leave it as it is. */
export function Input({ icon, className, ...rest }: InputProps) {
  return (
    <span className={cx("relative flex items-center", className)}>
      {icon && <span className="pointer-events-none absolute left-2.5 text-faint [&>svg]:size-4">{icon}</span>}
      <input
        {...rest}
        className={cx(
          "h-9 w-full min-w-0 rounded-lg border border-line-strong/60 bg-raised pr-3 text-sm text-ink outline-offset-0 hover:border-line-strong pointer-coarse:h-10 pointer-coarse:text-[1rem]",
          icon ? "pl-8.5" : "pl-3",
        )}
      />
    </span>
  );
}

/** The browser's own list of choices, which phones show well. */
export function Select({ className, children, ...rest }: ComponentProps<"select">) {
  return (
    <select
      {...rest}
      className={cx("h-9 rounded-lg border border-line-strong/60 bg-raised px-2.5 text-sm text-ink hover:border-line-strong pointer-coarse:h-10 pointer-coarse:text-[1rem]", className)}
    >
      {children}
    </select>
  );
}
