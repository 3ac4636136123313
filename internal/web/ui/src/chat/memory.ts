// What the browser remembers of each chat: the draft and the model. Storage may be off or full; then it remembers nothing.

function read(key: string): string {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

function write(key: string, value: string) {
  try {
    if (value === "") localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Nothing to do: the text is still in the field.
  }
}

/** `view` is a session's id, or "new" for the chat that is yet to begin. */
export const draftOf = (view: string) => read(`mooring.draft.${view}`);
export const keepDraft = (view: string, text: string) => write(`mooring.draft.${view}`, text.trim() === "" ? "" : text);
export const modelOf = (view: string) => read(`mooring.model.${view}`) || null;
export const keepModel = (view: string, model: string | null) => write(`mooring.model.${view}`, model ?? "");
