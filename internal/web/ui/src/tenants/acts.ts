import type { Place } from "@/api/types";

/** What an operator can do with a slot as it stands. */
export interface Act {
  label: string;
  /** What happens, for the one who confirms it. */
  means: string;
  order: "move" | "release";
  body: Record<string, unknown>;
  /** The slots to choose from, where one has to be named. */
  targets?: string[];
}

/** The note goes on behind a semicolon where there is more to say of the slot. */
const moving = /^moving to ([^;]+)/;

export function acts(place: Place, all: Place[]): Act[] {
  const free = all.filter((other) => other.state === "free" && other.configured).map((other) => other.slot);
  const back: Act = {
    label: "Let in", order: "move", body: { to: place.slot },
    means: "Its tenant is served here again.",
  };
  const release: Act = {
    label: "Release", order: "release", body: {},
    means: "The slot serves nobody and keeps its data. What is open there ends now. Its tenant gets it back by returning.",
  };
  switch (place.state) {
    case "claimed": {
      const move: Act = {
        label: "Move", order: "move", body: {}, targets: free,
        means: "The slot serves nobody while you stop its web UI and copy all that it and its agent keep, signing keys included. Then confirm the copy here.",
      };
      return free.length > 0 ? [move, release] : [release];
    }
    case "draining": {
      const to = moving.exec(place.note)?.[1];
      const copied: Act = {
        label: "Copied", order: "move", body: { to, copied: true },
        means: `The state has been copied and the web UI of ${to} runs: its tenant is let in there, and this slot is held until it is wiped.`,
      };
      return to ? [copied, back] : [back, release];
    }
    case "quarantined": {
      const wiped: Act = {
        label: "Wiped", order: "release", body: { wiped: true },
        means: "Its container and its volume were made anew: the slot is free for anybody from now on. Its last tenant finds nothing here any more.",
      };
      return place.tenant ? [back, wiped] : [wiped];
    }
  }
  return [];
}
