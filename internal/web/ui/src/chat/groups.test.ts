import { expect, test } from "vitest";
import type { Session } from "@/api/types";
import { newestFirst } from "./chats";
import { rowsOf } from "./groups";

const session = (id: string, when: Date, pinned = false) => ({ id, pinned, updated_at: when.toISOString() }) as Session;

test("pinned first, then by day", () => {
  const now = new Date(2026, 10, 30, 12);
  const list = [session("old", new Date(2026, 5, 2)), session("b", new Date(2026, 10, 30, 9)), session("y", new Date(2026, 10, 29, 9)), session("p", new Date(2026, 9, 1), true), session("a", new Date(2026, 10, 30, 11))];
  const rows = rowsOf(list.sort(newestFirst), now).map((row) => (row.kind === "head" ? `# ${row.label}` : row.session.id));
  const june = new Date(2026, 5, 2).toLocaleDateString(undefined, { month: "long", year: "numeric" });
  expect(rows).toEqual(["# Pinned", "p", "# Today", "a", "b", "# Yesterday", "y", `# ${june}`, "old"]);
});
