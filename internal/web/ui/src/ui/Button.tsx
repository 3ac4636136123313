import type { ComponentProps, ReactNode } from "react";
import { cx } from "./cx";
import { Spinner } from "./Spinner";
import { tip } from "./Tooltip";

type Look = "primary" | "plain" | "quiet" | "danger";

const looks: Record<Look, string> = {
  primary: "bg-accent text-on-accent hover:bg-accent-strong",
  plain: "border border-line bg-raised text-ink shadow-low hover:bg-hover",
  quiet: "text-soft hover:bg-hover hover:text-ink",
  danger: "border border-line bg-raised text-bad shadow-low hover:bg-bad-soft",
};

export interface ButtonProps extends ComponentProps<"button"> {
  look?: Look;
  size?: "md" | "sm";
  icon?: ReactNode;
  busy?: boolean;
}

export function Button({ look = "plain", size = "md", icon, busy, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={cx(
        "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-lg font-medium whitespace-nowrap transition-colors disabled:opacity-50",
        size === "md" ? "h-9 px-3.5 text-sm pointer-coarse:h-10" : "h-7 px-2.5 text-xs pointer-coarse:h-10 pointer-coarse:px-3.5 pointer-coarse:text-sm",
        looks[look],
        className,
      )}
      {...rest}
    >
      {busy ? <Spinner /> : icon}
      {children}
    </button>
  );
}

export interface IconButtonProps extends ComponentProps<"button"> {
  /** What it does; read out and shown as its tooltip. */
  label: string;
  look?: Look;
  size?: "md" | "sm";
  side?: "top" | "bottom" | "left" | "right";
  round?: boolean;
}

export function IconButton({ label, look = "quiet", size = "md", side, round, className, children, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      className={cx(
        "inline-flex shrink-0 items-center justify-center transition-colors disabled:opacity-40",
        round ? "rounded-full" : "rounded-lg",
        size === "md" ? "size-9" : "size-7",
        "pointer-coarse:size-10",
        looks[look],
        className,
      )}
      {...tip(label, side)}
      {...rest}
    >
      {children}
    </button>
  );
}
