/** One line of the model list; null stands for no choice of one's own. */
export interface Choice {
  model: string | null;
  /** Whether anybody says that there is such a model. */
  listed: boolean;
}

/** The lines that a search leaves, all its words in any order; and what was typed itself, since a glob may serve what nobody lists. */
export function choices(names: string[], text: string): Choice[] {
  const typed = text.trim();
  if (typed === "") return [{ model: null, listed: true }, ...names.map((model) => ({ model, listed: true }))];
  const words = typed.toLowerCase().split(/\s+/);
  const found = names.filter((name) => words.every((word) => name.toLowerCase().includes(word)));
  const lines: Choice[] = found.map((model) => ({ model, listed: true }));
  return found.includes(typed) || words.length > 1 ? lines : [...lines, { model: typed, listed: false }];
}
