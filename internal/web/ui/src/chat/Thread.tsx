import { useQueryClient } from "@tanstack/react-query";
import { ArrowDown, CircleAlert, CircleSlash, Unplug } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api } from "@/api/client";
import { keys } from "@/api/keys";
import type { Message as Stored, MessageID, Session, Turn } from "@/api/types";
import { Button, ErrorState, Skeleton, Spinner, toast, Unprinted } from "@/ui";
import { Live } from "./Live";
import { Message, type Actions } from "./Message";
import { Notice } from "./Notice";
import { arrange, type Shown } from "./parts";
import { runs, type Question, type Run } from "./runs";
import { useActions } from "./useActions";
import { leafBelow, useBranch, useSettle, useTurns } from "./useThread";
import { useStick } from "./useStick";

interface ThreadProps {
  session: Session | null;
  run: Run | undefined;
  /** A message that a link leads to. */
  target: MessageID | null;
  /** Why nothing can be asked here. */
  readOnly: boolean;
  onAsk: (question: Question) => void;
  onRestore: (run: Run) => void;
  /** Tells where the next question goes: behind the message that is shown last. */
  onTip: (tip: MessageID | "root" | null) => void;
  onSay: (text: string) => void;
}

/** Whether the reader wants nothing to move; a scroll by script does not ask by itself. */
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** What errors said that the stored turn does not; only for the sake of the sentence. */
const sentences = new Map<string, string>();

/** What was said in a session, and the answer that comes. */
export default function Thread({ session, run, target, readOnly, onAsk, onRestore, onTip, onSay }: ThreadProps) {
  const id = session?.id ?? null;
  const [tip, setTip] = useState<MessageID | null>(null);
  const turns = useTurns(id);
  const byID = useMemo(() => new Map((turns.data ?? []).map((turn) => [turn.id, turn])), [turns.data]);

  useFollow(id, run, turns.data);
  const parent = run?.question?.parent ?? null;
  const followed = run && !run.question && run.turn ? (byID.get(run.turn)?.question_id ?? null) : null;
  const branch = useBranch(parent === "root" ? null : id, parent && parent !== "root" ? parent : (followed ?? tip));
  const messages = useMemo(() => (parent === "root" ? [] : upTo(branch.messages, parent)), [branch.messages, parent]);
  const { shown, results } = useMemo(() => arrange(messages), [messages]);

  useTarget(id, target, setTip);
  useEnded(id, run, setTip, onSay);
  const last = messages.at(-1)?.id;
  useEffect(() => onTip(last ?? (branch.isSuccess || id === null ? "root" : null)), [last, branch.isSuccess, id, onTip]);

  const stick = useStick(messages[0]?.id);
  const asked = run?.question ? run.id : "";
  const { toEnd, hold } = stick;
  useEffect(() => {
    if (asked !== "") toEnd();
  }, [asked, toEnd]);
  useEffect(() => {
    if (!target || !messages.some((message) => message.id === target)) return;
    hold();
    document.getElementById(target)?.scrollIntoView({ block: "center" });
    // Once the message is there; later changes do not take the reader back to it.
  }, [target, messages.some((message) => message.id === target)]);

  const working = run !== undefined && run.phase !== "ended";
  const actions = useActions({ session, messages, locked: working || readOnly, onAsk, onTip: setTip });
  const top = useTop(branch.hasNextPage && !branch.isFetchingNextPage, () => void branch.fetchNextPage());

  if (branch.isError && messages.length === 0) return <ErrorState error={branch.error} retry={() => void branch.refetch()} />;
  return (
    <div className="relative min-h-0 flex-1 contain-strict print:contain-none">
      <div ref={stick.attach} className="h-full overflow-y-auto [overflow-anchor:none]">
        <div className="mx-auto w-full max-w-3xl px-4 pt-4 pb-6 md:px-6">
          {branch.hasNextPage && (
            <>
              <div ref={top} className="flex h-10 items-center justify-center text-faint print:hidden">
                <Spinner />
              </div>
              <Unprinted>
                These are the last {messages.length} messages. Those before them are on paper too when they were scrolled to; the session’s export has all of them.
              </Unprinted>
            </>
          )}
          {id !== null && parent !== "root" && branch.isPending && <LoadingThread />}
          {shown.map((one, i) => (
            <div key={one.message.id} id={one.message.id} className={one.message.id === target ? "rounded-xl ring-2 ring-accent/40 ring-offset-8 ring-offset-page" : undefined}>
              <Message
                message={one.message}
                blocks={one.blocks}
                results={results}
                turn={one.message.turn_id ? byID.get(one.message.turn_id) : undefined}
                actions={actions}
                opens={shown[i - 1]?.message.role !== one.message.role}
              />
              <Ending one={one} next={shown[i + 1]} run={run} turn={one.message.turn_id ? byID.get(one.message.turn_id) : undefined} actions={actions} />
            </div>
          ))}
          {run && (
            <Live
              run={run}
              onAgain={() => runs.again(run.id)}
              onEdit={() => {
                onRestore(run);
                runs.drop(run.id);
              }}
            />
          )}
        </div>
      </div>
      {stick.away && (
        <Button size="sm" icon={<ArrowDown className="size-3.5" />} className="animate-rise absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-high" onClick={() => toEnd(calm() ? "instant" : "smooth")}>
          Jump to the latest
        </Button>
      )}
    </div>
  );
}

/** The branch up to a message, itself included; all of it where the message is not there or none is named. */
function upTo(messages: Stored[], end: MessageID | null): Stored[] {
  const at = end === null ? -1 : messages.findIndex((message) => message.id === end);
  return at < 0 ? messages : messages.slice(0, at + 1);
}

/** Follows the session's running turn: this page's before it was loaded anew, another tab's, or a coding agent's. */
function useFollow(session: string | null, run: Run | undefined, turns: Turn[] | undefined) {
  const running = turns?.findLast((turn) => turn.state === "running" && turn.kind !== "side")?.id;
  const sending = run?.phase === "sending"; // its own turn may be the one that runs
  useEffect(() => {
    if (session && running && !sending) runs.follow(session, running);
  }, [session, running, sending]);
}

/** Puts what is stored in the place of a run that has ended. */
function useEnded(session: string | null, run: Run | undefined, setTip: (tip: MessageID | null) => void, onSay: (text: string) => void) {
  const client = useQueryClient();
  const settle = useSettle(session);
  const ended = run && run.phase === "ended" && run.turn !== null && run.session === session ? run : null;
  useEffect(() => {
    if (!ended || session === null) return;
    let here = true;
    const finish = async (tries: number): Promise<void> => {
      try {
        const turn = await api<Turn>(`/api/turns/${ended.turn}`);
        const tip = await settle(turn);
        await client.invalidateQueries({ queryKey: keys.turns(session) });
        if (!here) return;
        if (ended.error) sentences.set(turn.id, ended.error.message);
        onSay(ended.outcome === "completed" ? `The answer is there, ${words(ended.text)}.` : "");
        setTip(tip);
        runs.drop(ended.id);
      } catch {
        if (here && tries < 20) setTimeout(() => here && void finish(tries + 1), 3000);
      }
    };
    void finish(0);
    return () => {
      here = false;
    };
  }, [ended?.id, session]);
}

function words(text: string): string {
  const count = text.split(/\s+/).filter(Boolean).length;
  return count === 1 ? "one word" : `${count} words`;
}

/** Shows the branch that a linked message stands in. */
function useTarget(session: string | null, target: MessageID | null, setTip: (tip: MessageID) => void) {
  useEffect(() => {
    if (!session || !target) return;
    let here = true;
    leafBelow(session, target).then(
      (leaf) => here && setTip(leaf),
      () => here && toast({ text: "The message of that link is not in this session any more." }),
    );
    return () => {
      here = false;
    };
  }, [session, target]);
}

/** Acts when the top of what is loaded comes into sight. */
function useTop(ready: boolean, act: () => void) {
  const latest = useRef(act);
  latest.current = act;
  return useCallback(
    (element: HTMLDivElement | null) => {
      if (!element || !ready) return;
      const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && latest.current(), { rootMargin: "600px 0px 0px" });
      observer.observe(element);
      return () => observer.disconnect();
    },
    [ready],
  );
}

interface EndingProps {
  one: Shown;
  next: Shown | undefined;
  run: Run | undefined;
  turn: Turn | undefined;
  actions: Actions;
}

/** How a turn ended that did not end well; it stands below the last message of that turn. */
function Ending({ one: { message }, next, run, turn, actions }: EndingProps) {
  const state = turn && turn.state !== "running" ? turn.state : message.state;
  if (state === "completed" || state === "running") return null;
  if (message.turn_id !== null && (next?.message.turn_id === message.turn_id || run?.turn === message.turn_id)) return null;
  if (message.role === "user" && next?.message.role === "assistant") return null;
  const retry = actions.retry && (
    <Button size="sm" onClick={() => actions.retry!(message)}>Retry</Button>
  );
  if (state === "cancelled") return <Notice tone="soft" icon={<CircleSlash />} action={retry}>Stopped. What had come by then is kept.</Notice>;
  if (state === "interrupted") {
    return <Notice tone="warn" icon={<Unplug />} action={retry}>Interrupted: the server ended while this answer was being written.</Notice>;
  }
  return <Notice tone="bad" icon={<CircleAlert />} action={retry}>{reasonOf(turn)}</Notice>;
}

function reasonOf(turn: Turn | undefined): string {
  if (!turn) return "This turn failed.";
  const reason = sentences.get(turn.id) ?? turn.attempts.at(-1)?.reason;
  if (reason) return /[.!?]$/.test(reason) ? reason : `${reason}.`;
  return `This turn failed${turn.error_code ? ` (${turn.error_code})` : ""}${turn.status ? `: the upstream answered with status ${turn.status}` : ""}.`;
}

function LoadingThread() {
  return (
    <div aria-label="Loading" className="space-y-4 py-4">
      <Skeleton className="ml-auto h-11 w-1/2 rounded-2xl" />
      <Skeleton className="h-4 w-11/12" />
      <Skeleton className="h-4 w-4/5" />
      <Skeleton className="h-4 w-2/3" />
    </div>
  );
}
