import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { api, sentence } from "@/api/client";
import { keys } from "@/api/keys";
import type { Place } from "@/api/types";
import { Badge, Button, Dialog, Select, cx, format, toast, type Tone } from "@/ui";
import { acts, type Act } from "./acts";

const states: Record<string, { tone: Tone; word: string }> = {
  free: { tone: "neutral", word: "free" },
  claimed: { tone: "good", word: "taken" },
  draining: { tone: "warn", word: "draining" },
  quarantined: { tone: "warn", word: "held" },
};

interface SlotsProps {
  places: Place[];
  /** The slot that was looked for. */
  marked: string | null;
}

/** All slots, one a row; on a phone a row becomes a card of its own. */
export function Slots({ places, marked }: SlotsProps) {
  const [asked, setAsked] = useState<{ place: Place; act: Act } | null>(null);
  return (
    <>
      <ul className="overflow-hidden rounded-xl border border-line bg-raised">
        {places.map((place) => (
          <li
            key={place.slot}
            aria-current={place.slot === marked || undefined}
            className={cx("flex flex-wrap items-start gap-x-6 gap-y-2 border-t border-line px-4 py-3 first:border-t-0", place.slot === marked && "bg-accent-soft")}
          >
            <Name place={place} />
            <Facts place={place} />
            <div className="flex flex-wrap gap-2 sm:ml-auto sm:min-w-40 sm:justify-end">
              {acts(place, places).map((act) => (
                <Button key={act.label} size="sm" aria-label={`${act.label} ${place.slot}`} onClick={() => setAsked({ place, act })}>{act.label}</Button>
              ))}
            </div>
          </li>
        ))}
      </ul>
      <Dialog open={asked !== null} onClose={() => setAsked(null)} title={asked ? `${asked.act.label} ${asked.place.slot}?` : ""}>
        {asked && <Confirm place={asked.place} act={asked.act} onDone={() => setAsked(null)} />}
      </Dialog>
    </>
  );
}

function Name({ place }: { place: Place }) {
  const { tone, word } = states[place.state] ?? { tone: "neutral", word: place.state };
  return (
    <div className="min-w-48 flex-1">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-medium break-words">{place.slot}</span>
        <Badge tone={tone}>{word}</Badge>
        {!place.configured && <Badge tone="bad">not configured</Badge>}
        {place.configured && place.health !== "up" && <Badge tone="bad">{place.health}</Badge>}
      </p>
      {place.note && <p className="mt-1 text-xs text-pretty text-soft">{place.note}</p>}
      <p className="mt-1 text-xs wrap-anywhere text-faint">{place.url}</p>
    </div>
  );
}

function Facts({ place }: { place: Place }) {
  const facts: [string, ReactNode, string?][] = [
    ["Tenant", place.tenant ? <code title={place.tenant} className="whitespace-nowrap">{place.tenant.slice(0, 9)}…</code> : "nobody"],
    ["Last here", place.seen_at ? format.ago(new Date(place.seen_at), new Date()) : "never", place.seen_at ? format.fullTime(new Date(place.seen_at)) : undefined],
    ["In flight", format.number(place.in_flight)],
  ];
  return (
    <dl className="num grid grid-cols-3 gap-x-6 text-sm max-sm:w-full">
      {facts.map(([label, value, title]) => (
        <div key={label} title={title} className="min-w-24">
          <dt className="text-xs text-faint">{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Confirm({ place, act, onDone }: { place: Place; act: Act; onDone: () => void }) {
  const client = useQueryClient();
  const [to, setTo] = useState(act.targets?.[0] ?? "");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const go = async () => {
    setBusy(true);
    setError(null);
    try {
      const body = act.targets ? { ...act.body, to } : act.body;
      const now = await api<Place>(`/api/tenants/${encodeURIComponent(place.slot)}/${act.order}`, { method: "POST", body });
      await client.invalidateQueries({ queryKey: keys.tenants });
      toast({ text: `${now.slot} is ${states[now.state]?.word ?? now.state}` });
      onDone();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <p className="text-sm text-pretty text-soft">{act.means}</p>
      {act.targets && (
        <label className="mt-3 flex items-center gap-3 text-sm">
          To
          <Select value={to} onChange={(event) => setTo(event.target.value)} className="flex-1">
            {act.targets.map((slot) => <option key={slot}>{slot}</option>)}
          </Select>
        </label>
      )}
      {error !== null && <p role="alert" className="mt-3 rounded-lg bg-bad-soft px-3 py-2 text-sm text-pretty text-bad">{sentence(error)}</p>}
      <div className="mt-5 flex justify-end gap-2">
        <Button look="quiet" onClick={onDone}>Cancel</Button>
        <Button look="primary" busy={busy} onClick={() => void go()}>{act.label}</Button>
      </div>
    </>
  );
}
