import { expect, test } from "vitest";
import { highlight, wordsOf } from "./highlight";

const shown = (text: string, query: string) => highlight(text, query).map((piece) => (piece.hit ? `[${piece.text}]` : piece.text)).join("");

test("every word of the query is marked, in any order and case", () => {
  expect(shown("The bollard stands on the Quay.", "quay BOLLARD")).toBe("The [bollard] stands on the [Quay].");
  expect(shown("nothing here", "")).toBe("nothing here");
  expect(shown("nothing here", "absent")).toBe("nothing here");
});

test("signs inside a word count, those around it do not", () => {
  expect(shown("See src/main.py, please", "“src/main.py”")).toBe("See [src/main.py], please");
  expect(shown("I don't know. I don’t.", "don’t")).toBe("I [don't] know. I [don’t].");
  expect(shown("a C++ book", "C++")).toBe("a [C]++ book");
  expect(shown("1 + 1", "+")).toBe("1 [+] 1");
});

test("other scripts, emoji and accents", () => {
  expect(shown("港口的潮汐表在哪里", "潮汐")).toBe("港口的[潮汐]表在哪里");
  expect(shown("Plan a 🚢 birthday", "🚢")).toBe("Plan a [🚢] birthday");
  expect(shown("un café noir", "CAFE")).toBe("un [café] noir");
  expect(shown("un cafe\u0301 noir", "café")).toBe("un [cafe\u0301] noir");
  expect(shown("die Straße", "straße")).toBe("die [Straße]");
});

test("the middle of a word is marked only where no word begins so", () => {
  expect(shown("art and party", "art")).toBe("[art] and party");
  expect(shown("a party", "art")).toBe("a p[art]y");
});

test("neighbours and overlaps are one mark, and nothing is lost", () => {
  expect(shown("mooring line", "moor mooring")).toBe("[mooring] line");
  for (const query of ["a", "<img src=x>", "((", "\\", "ﬁ", "İ"]) {
    const text = "<img src=x onerror=alert(1)> a (( \\ ﬁne İstanbul";
    expect(highlight(text, query).map((piece) => piece.text).join("")).toBe(text);
  }
});

test("a query's words", () => {
  expect(wordsOf("  Foo,  \"bar\" foo +++ ")).toEqual(["foo", "bar", "+++"]);
});
