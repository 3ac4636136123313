/** A piece of a text; `hit` where it holds what was looked for. */
export interface Piece {
  text: string;
  hit: boolean;
}

const wordSign = /[\p{L}\p{N}\p{M}_]/u;
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const around = /^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu;

/** The words of a query as the search takes them: without case, accents, and what stands around them. Signs alone are a word too. */
export function wordsOf(query: string): string[] {
  const words = query.split(/\s+/u).filter(Boolean).map((word) => fold(word.replace(around, "")) || fold(word));
  return [...new Set(words.filter(Boolean))];
}

const fold = (text: string) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("’", "'");

/** A text without case and accents, and for each of its signs the place in the text that it stands for. */
function folded(text: string): { text: string; from: number[]; to: number[] } {
  let out = "";
  const from: number[] = [];
  const to: number[] = [];
  let at = 0;
  for (const sign of text) {
    const plain = fold(sign);
    // An accent that stands by itself belongs to the letter before it.
    if (plain === "" && to.length > 0) to[to.length - 1] = at + sign.length;
    for (let i = 0; i < plain.length; i++) {
      from.push(at);
      to.push(at + sign.length);
    }
    out += plain;
    at += sign.length;
  }
  return { text: out, from, to };
}

/** Cuts a text where a query's words are found in it. What comes out is text: whoever shows it makes the elements. */
export function highlight(text: string, query: string): Piece[] {
  const words = wordsOf(query);
  const plain = folded(text);
  const hits = words.flatMap((word) => places(plain.text, word)).sort((a, b) => a[0] - b[0]);
  const pieces: Piece[] = [];
  let done = 0;
  const add = (to: number, hit: boolean) => {
    if (to <= done) return;
    const last = pieces.at(-1);
    const piece = text.slice(done, to);
    if (last?.hit === hit) last.text += piece;
    else pieces.push({ text: piece, hit });
    done = to;
  };
  for (const [start, end] of hits) {
    add(plain.from[start]!, false);
    add(plain.to[end - 1]!, true);
  }
  add(text.length, false);
  return pieces;
}

/** Where a word stands: at the beginning of words, and inside them only where it stands nowhere else. */
function places(text: string, word: string): [number, number][] {
  const all: [number, number][] = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) all.push([at, at + word.length]);
  const atStart = all.filter(([at]) => at === 0 || !wordSign.test(text[at - 1]!) || unspaced.test(word[0]!) || !wordSign.test(word[0]!));
  return atStart.length > 0 ? atStart : all;
}
