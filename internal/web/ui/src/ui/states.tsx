import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { sentence } from "@/api/client";
import { Button } from "./Button";
import { cx } from "./cx";

/** A place that will be filled; it has the size of what comes, so that nothing moves. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={cx("animate-soft block rounded-md bg-hover", className)} />;
}

export function EmptyState({ icon, title, children, action }: { icon?: ReactNode; title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-2 px-6 py-14 text-center">
      {icon && <span className="mb-1 text-faint [&>svg]:size-7 [&>svg]:stroke-[1.5]">{icon}</span>}
      <p className="font-medium text-balance">{title}</p>
      {children && <p className="text-sm text-pretty text-soft">{children}</p>}
      {action && <div className="mt-3">{action}</div>}
    </div>
  );
}

/** What could not be read, in the server's own sentence, and a way to try again. */
export function ErrorState({ error, retry, title = "This could not be loaded" }: { error: unknown; retry?: () => void; title?: string }) {
  return (
    <div role="alert" className="mx-auto flex max-w-md flex-col items-center gap-2 px-6 py-14 text-center">
      <CircleAlert aria-hidden className="mb-1 size-7 stroke-[1.5] text-bad" />
      <p className="font-medium">{title}</p>
      <p className="text-sm text-pretty text-soft">{sentence(error)}</p>
      {retry && <Button className="mt-3" onClick={retry}>Try again</Button>}
    </div>
  );
}
