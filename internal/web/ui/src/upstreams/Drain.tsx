import { useQueryClient } from "@tanstack/react-query";
import { CirclePause, CirclePlay } from "lucide-react";
import { useState, type ReactNode } from "react";
import { api, sentence } from "@/api/client";
import { keys } from "@/api/keys";
import type { Upstream } from "@/api/types";
import { Button, Dialog, format, toast } from "@/ui";
import { left, onlyHere } from "./drained";

export interface Draining {
  /** The upstream whose order is on its way. */
  busy: string | null;
  ask: (upstream: Upstream) => void;
  resume: (upstream: Upstream) => void;
  /** Stands once beside the list. */
  dialog: ReactNode;
}

/** Takes upstreams out of the choice for new sessions, once that was confirmed, and back into it. */
export function useDraining(upstreams: Upstream[]): Draining {
  const client = useQueryClient();
  const [asked, setAsked] = useState<string | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const order = async (name: string, what: "drain" | "resume") => {
    setBusy(name);
    try {
      const now = await api<Upstream | undefined>(`/api/upstreams/${encodeURIComponent(name)}/${what}`, { method: "POST" });
      await client.cancelQueries({ queryKey: keys.upstreams }); // a reading under way may be older than the order
      client.setQueryData<Upstream[]>(keys.upstreams, (all) => now && all?.map((one) => (one.name === name ? now : one)));
      await client.invalidateQueries({ queryKey: keys.upstreams });
    } finally {
      setBusy(null);
    }
  };
  const close = () => {
    setAsked(null);
    setError(null);
  };
  const drain = async (name: string) => {
    setError(null);
    try {
      await order(name, "drain");
      close();
    } catch (thrown) {
      setError(thrown);
    }
  };
  const resume = (upstream: Upstream) =>
    void order(upstream.name, "resume").then(
      () => toast({ text: `${upstream.name} takes new sessions again` }),
      (thrown) => toast({ text: sentence(thrown), tone: "bad" }),
    );
  const chosen = upstreams.find((one) => one.name === asked);
  const dialog = (
    <Dialog open={chosen !== undefined} onClose={close} title={`Drain ${asked}?`}>
      {chosen && <Confirm upstream={chosen} all={upstreams} busy={busy === asked} error={error} onCancel={close} onDrain={() => void drain(chosen.name)} />}
    </Dialog>
  );
  return { busy, ask: (upstream) => setAsked(upstream.name), resume, dialog };
}

/** The button of one upstream: what can be ordered as it stands. */
export function Order({ upstream, draining }: { upstream: Upstream; draining: Draining }) {
  const { name, drained } = upstream;
  return (
    <Button
      size="sm"
      aria-label={`${drained ? "Resume" : "Drain"} ${name}`}
      icon={drained ? <CirclePlay aria-hidden className="size-3.5" /> : <CirclePause aria-hidden className="size-3.5" />}
      busy={draining.busy === name}
      onClick={() => (drained ? draining.resume(upstream) : draining.ask(upstream))}
    >
      {drained ? "Resume" : "Drain"}
    </Button>
  );
}

/** Since when it is drained, and what is still there. */
export function DrainState({ upstream }: { upstream: Upstream }) {
  const since = upstream.drained_since ? new Date(upstream.drained_since) : null;
  return (
    <p className="mt-1 text-xs text-pretty text-soft" title={since ? `Since ${format.fullTime(since)}` : undefined}>
      No new sessions. {left(upstream)}
    </p>
  );
}

interface ConfirmProps {
  upstream: Upstream;
  all: Upstream[];
  busy: boolean;
  error: unknown;
  onCancel: () => void;
  onDrain: () => void;
}

function Confirm({ upstream, all, busy, error, onCancel, onDrain }: ConfirmProps) {
  const alone = onlyHere(upstream, all);
  return (
    <>
      <p className="text-sm text-pretty text-soft">
        It takes no new sessions, and keeps those it has until they end or idle out. Nothing that runs is broken off. This outlives a restart.
      </p>
      {alone.length > 0 && (
        <p className="mt-3 rounded-lg bg-warn-soft px-3 py-2 text-sm text-pretty text-warn">
          No other upstream takes new sessions for {alone.join(", ")}. They are refused with status 503 until one does.
        </p>
      )}
      {error !== null && <p role="alert" className="mt-3 rounded-lg bg-bad-soft px-3 py-2 text-sm text-pretty text-bad">{sentence(error)}</p>}
      <div className="mt-5 flex justify-end gap-2">
        <Button look="quiet" onClick={onCancel}>Cancel</Button>
        <Button look="primary" busy={busy} onClick={onDrain}>Drain</Button>
      </div>
    </>
  );
}
