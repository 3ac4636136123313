import { describe, expect, test } from "vitest";
import { backoff, EventParser } from "./sse";

const stream = ": hello\n\nid: 4\nevent: chunk\ndata: {\"a\":1}\n\ndata: one\r\ndata:two\r\n\r\nid: 5\ndata\n\n";
const expected = [
  { event: "chunk", data: '{"a":1}', id: "4" },
  { event: "message", data: "one\ntwo", id: "4" },
  { event: "message", data: "", id: "5" },
];

describe("EventParser", () => {
  test("reads a whole stream", () => {
    expect(new EventParser().push(stream)).toEqual(expected);
  });

  test("reads the same events however the stream is cut", () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const parser = new EventParser();
      expect([...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))]).toEqual(expected);
    }
    const parser = new EventParser();
    expect([...stream].flatMap((c) => parser.push(c))).toEqual(expected);
  });

  test("an event without its blank line has not come", () => {
    expect(new EventParser().push("data: half\n")).toEqual([]);
  });

  test("a byte order mark is not part of the first field", () => {
    expect(new EventParser().push("\uFEFFdata: x\n\n")).toEqual([{ event: "message", data: "x", id: "" }]);
  });
});

test("backoff grows and stays bounded", () => {
  expect(backoff(0, 1)).toBe(500);
  expect(backoff(0, 0)).toBe(250);
  expect(backoff(3, 1)).toBe(4000);
  expect(backoff(50, 1)).toBe(15_000);
});
