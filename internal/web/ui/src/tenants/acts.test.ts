import { describe, expect, it } from "vitest";
import type { Place } from "@/api/types";
import { acts } from "./acts";

const place = (slot: string, over: Partial<Place> = {}): Place => ({
  slot, state: "free", tenant: "", key_id: "", epoch: 1, claimed_at: null, seen_at: null, note: "", configured: true, url: "http://h", in_flight: 0, health: "up", ...over,
});
const labels = (one: Place, all: Place[] = [one]) => acts(one, all).map((act) => act.label);

describe("acts", () => {
  it("offers nothing for a free slot", () => expect(labels(place("a"))).toEqual([]));
  it("moves to free slots that are configured, and only where there is one", () => {
    const taken = place("a", { state: "claimed", tenant: "t1-x" });
    expect(labels(taken)).toEqual(["Release"]);
    const all = [taken, place("b"), place("c", { configured: false }), place("d", { state: "quarantined" })];
    expect(acts(taken, all)[0]).toMatchObject({ label: "Move", targets: ["b"] });
  });
  it("ends a move where it was going, or calls it off", () => {
    const one = place("a", { state: "draining", tenant: "t1-x", note: "moving to b" });
    expect(acts(one, [one])[0]).toMatchObject({ label: "Copied", body: { to: "b", copied: true } });
    expect(labels(one)).toEqual(["Copied", "Let in"]);
    const salted = { ...one, note: "moving to b; claimed under another salt: its tenant cannot come back" };
    expect(acts(salted, [salted])[0]).toMatchObject({ label: "Copied", body: { to: "b", copied: true } });
  });
  it("lets nobody into a slot whose tenant has moved away", () => {
    expect(labels(place("a", { state: "quarantined" }))).toEqual(["Wiped"]);
    expect(labels(place("a", { state: "quarantined", tenant: "t1-x" }))).toEqual(["Let in", "Wiped"]);
  });
});
