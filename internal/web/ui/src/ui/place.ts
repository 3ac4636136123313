export type Side = "top" | "bottom" | "left" | "right";

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

const gap = 6;
const margin = 8;
const across: Record<Side, Side> = { top: "bottom", bottom: "top", left: "right", right: "left" };

/** Where something small stands beside a box: at the side that is wanted, across where there is no room, and never outside the window. */
export function place(box: Box, size: { width: number; height: number }, wanted: Side, window: { width: number; height: number }): { left: number; top: number } {
  const room: Record<Side, number> = {
    top: box.top, bottom: window.height - box.top - box.height, left: box.left, right: window.width - box.left - box.width,
  };
  const needed = (side: Side) => (side === "top" || side === "bottom" ? size.height : size.width) + gap + margin;
  const side = room[wanted] < needed(wanted) && room[across[wanted]] > room[wanted] ? across[wanted] : wanted;
  const middle = { left: box.left + (box.width - size.width) / 2, top: box.top + (box.height - size.height) / 2 };
  const at = {
    top: { ...middle, top: box.top - gap - size.height },
    bottom: { ...middle, top: box.top + box.height + gap },
    left: { ...middle, left: box.left - gap - size.width },
    right: { ...middle, left: box.left + box.width + gap },
  }[side];
  const within = (value: number, most: number) => Math.round(Math.max(margin, Math.min(value, most - margin)));
  return { left: within(at.left, window.width - size.width), top: within(at.top, window.height - size.height) };
}
