import { expect, test } from "vitest";
import { waitingOf } from "./outbox";
import type { Run } from "./runs";

const question = { text: "Q", pictures: [{ id: "p", name: "shot.png", type: "image/png", size: 1, url: "data:" }], model: null, parent: "root" as const };
const run = (more: Partial<Run>): Run => ({
  id: "r", origin: "A", session: null, turn: null, question, phase: "sending", text: "", thinking: "", tools: [], last: "", stopping: false, outcome: null, error: null, startedAt: 0, ...more,
});

test.each<[string, Partial<Run>, boolean]>([
  ["on its way", {}, true],
  ["offline", { phase: "offline" }, true],
  ["refused", { phase: "ended", outcome: "refused" }, true],
  ["the server has its turn", { turn: "t", phase: "answering" }, false],
  ["answered", { phase: "ended", outcome: "completed" }, false],
  ["a turn that is only followed", { question: null }, false],
])("what waits: %s", (_, more, want) => expect(waitingOf([run(more)]).length).toBe(want ? 1 : 0));

test("what is kept of a question: all but its pictures, which have their names there", () => {
  expect(waitingOf([run({ session: "S", phase: "ended", outcome: "refused" })])).toEqual([
    { id: "r", origin: "A", session: "S", text: "Q", pictures: ["shot.png"], model: null, parent: "root", refused: true },
  ]);
});
