import type { ReactNode } from "react";
import { cx } from "@/ui";

/** A sentence about a turn's state, with what can be done about it. */
export function Notice({ tone, icon, children, action }: { tone: "soft" | "bad" | "warn"; icon: ReactNode; children: ReactNode; action?: ReactNode }) {
  return (
    <div
      role={tone === "bad" ? "alert" : "status"}
      className={cx("my-2 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl px-3.5 py-2.5 text-sm", tone === "bad" ? "bg-bad-soft text-bad" : tone === "warn" ? "bg-warn-soft text-warn" : "bg-sunken text-soft")}
    >
      <span className="[&>svg]:size-4">{icon}</span>
      <span className="min-w-0 flex-1 basis-48 break-words">{children}</span>
      {action && <span className="flex gap-2">{action}</span>}
    </div>
  );
}
