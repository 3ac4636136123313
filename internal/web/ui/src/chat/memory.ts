// What the browser remembers of each chat: the draft and the model, and of the pictures that are not sent yet that they were there.
// Storage may be off or full; then it remembers nothing.

import type { Picture } from "./runs";

function read(key: string, store = () => localStorage): string {
  try {
    return store().getItem(key) ?? "";
  } catch {
    return "";
  }
}

function write(key: string, value: string, store = () => localStorage) {
  try {
    if (value === "") store().removeItem(key);
    else store().setItem(key, value);
  } catch {
    // Nothing to do: the text is still in the field.
  }
}

/** `view` is a session's id, or "new" for the chat that is yet to begin. */
export const draftOf = (view: string) => read(`mooring.draft.${view}`);
export const keepDraft = (view: string, text: string) => write(`mooring.draft.${view}`, text.trim() === "" ? "" : text);
export const modelOf = (view: string) => read(`mooring.model.${view}`) || null;
export const keepModel = (view: string, model: string | null) => write(`mooring.model.${view}`, model ?? "");

const tab = () => sessionStorage;

/** The names of the pictures that stood beside a draft in the page that was left: too large to be kept, they are gone with it. */
export function lostOf(view: string): string[] {
  return pictures.has(view) ? [] : read(`mooring.pictures.${view}`, tab).split("\n").filter(Boolean);
}
export const keepLost = (view: string, names: string[]) => write(`mooring.pictures.${view}`, names.map((name) => name.replaceAll("\n", " ")).join("\n"), tab);

/** Pictures that are not sent yet, of each view. */
const pictures = new Map<string, Picture[]>();

export const picturesIn = (view: string): Picture[] => pictures.get(view) ?? [];
export function keepPictures(view: string, now: Picture[]) {
  pictures.set(view, now);
  keepLost(view, now.map((picture) => picture.name));
}

/** A chat that got its session, or another one, goes on under that: what was typed meanwhile goes along. */
export function moveDraft(from: string, to: string) {
  const text = draftOf(from);
  if (text !== "" && draftOf(to) === "") {
    keepDraft(to, text);
    keepDraft(from, "");
  }
  const here = picturesIn(from);
  if (here.length > 0 && picturesIn(to).length === 0) {
    keepPictures(to, here);
    keepPictures(from, []);
  }
}

/** Notes who has signed in; what somebody else has typed here is neither theirs to see nor theirs to send. */
export function keepWho(who: string) {
  const before = read("mooring.who");
  if (before !== "" && before !== who) forgetDrafts();
  write("mooring.who", who);
}

/** Forgets all that was typed: somebody else may sit here next. */
export function forgetDrafts() {
  for (const store of [() => localStorage, tab]) {
    try {
      const names = Object.keys(store()).filter((name) => /^mooring\.(draft|pictures|outbox)/.test(name));
      names.forEach((name) => store().removeItem(name));
    } catch {
      // Storage is off: nothing was kept.
    }
  }
}
