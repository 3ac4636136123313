import type { ReactNode } from "react";

/** A sentence that stands on paper alone: what of the page is not there. */
export function Unprinted({ children }: { children: ReactNode }) {
  return <p className="mb-3 hidden text-sm text-soft print:block">{children}</p>;
}
