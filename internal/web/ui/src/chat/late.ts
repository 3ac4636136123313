import { late } from "@/app/late";

/** Messages bring the reading of Markdown with them; a chat that is yet to begin does without. */
export const Thread = late(() => import("./Thread"));
