import type { CostedUsage } from "@/api/types";
import { format } from "@/ui";
import { allTokens } from "./list";

/** A cost in figures, or the word for one that is not known, with where to set it. What used nothing has none. `alone`: no heading says that it is a cost. */
export function Price({ use, alone }: { use: CostedUsage; alone?: boolean }) {
  if (use.cost_usd === null) {
    return <span className="text-faint" title="The price of a model used here is not known. Set it under `prices:` in the configuration.">{alone ? "cost unknown" : "unknown"}</span>;
  }
  if (use.cost_usd === 0 && allTokens(use) === null) return <span className="text-faint">–</span>;
  return <span title={`$${use.cost_usd}`}>{format.cost(use.cost_usd)}</span>;
}
