import { expect, test } from "vitest";
import { place } from "./place";

const window = { width: 400, height: 300 };
const size = { width: 80, height: 24 };

test("it stands at the side that is wanted, in the middle of what it is about", () => {
  const box = { left: 200, top: 100, width: 20, height: 20 };
  expect(place(box, size, "bottom", window)).toEqual({ left: 170, top: 126 });
  expect(place(box, size, "top", window)).toEqual({ left: 170, top: 70 });
  expect(place(box, size, "left", window)).toEqual({ left: 114, top: 98 });
  expect(place(box, size, "right", window)).toEqual({ left: 226, top: 98 });
});

test("where there is no room it stands across", () => {
  expect(place({ left: 200, top: 270, width: 20, height: 20 }, size, "bottom", window).top).toBe(240);
  expect(place({ left: 370, top: 100, width: 20, height: 20 }, size, "right", window).left).toBe(284);
});

test("it never leaves the window", () => {
  expect(place({ left: 380, top: 100, width: 20, height: 20 }, size, "bottom", window).left).toBe(312);
  expect(place({ left: 0, top: 100, width: 20, height: 20 }, size, "bottom", window).left).toBe(8);
  expect(place({ left: 0, top: 0, width: 400, height: 300 }, size, "bottom", window).top).toBe(268);
});
