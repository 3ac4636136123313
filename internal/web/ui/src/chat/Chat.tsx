import { useQueryClient } from "@tanstack/react-query";
import { CircleSlash, ListTree } from "lucide-react";
import { Suspense, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import { ApiError, api, sessionPath } from "@/api/client";
import { useMe, useSession } from "@/api/hooks";
import { keys } from "@/api/keys";
import type { MessageID, Session } from "@/api/types";
import { PageSide, TopBar, useTitle } from "@/app/Page";
import { EmptyState, ErrorState, projectName, tip, toast } from "@/ui";
import { ChatList, NewChat, Rename } from "./ChatList";
import { Asked } from "./Asked";
import { ChatMenu } from "./ChatMenu";
import { Composer, type Message } from "./Composer";
import { clientOf, titleOf } from "./groups";
import { Thread } from "./late";
import { keepModel, moveDraft } from "./memory";
import { Notice } from "./Notice";
import { keepOutbox } from "./outbox";
import { randomID, runs, runsIn, type Question, type Run } from "./runs";
import { Welcome } from "./Welcome";

/** The chat: a list of sessions, and the one that is open. */
export default function Chat() {
  const { friendlyId } = useParams<{ friendlyId?: string }>();
  const name = friendlyId === undefined ? null : decodeURIComponent(friendlyId);
  const found = useSession(name);
  const [search] = useSearchParams();
  const all = useSyncExternalStore(runs.subscribe, runs.all);
  useThreadSoon();
  const session = name === null ? null : (found.data ?? null);
  return (
    <div className="flex h-full min-h-0">
      <PageSide label="Chats">
        <ChatList current={session?.id ?? null} runs={all} />
      </PageSide>
      {name !== null && found.isError ? (
        <Missing error={found.error} retry={() => void found.refetch()} />
      ) : name !== null && !session ? (
        <div className="flex-1" aria-busy="true" />
      ) : (
        <Open named={session} all={all} target={search.get("message")} />
      )}
    </div>
  );
}

/** Fetches what the first question will need, once the page itself is there. */
function useThreadSoon() {
  useEffect(() => {
    const timer = setTimeout(() => void Thread.load().catch(() => {}), 100);
    return () => clearTimeout(timer);
  }, []);
}

function Missing({ error, retry }: { error: unknown; retry: () => void }) {
  const gone = error instanceof ApiError && error.status === 404;
  return (
    <div className="flex-1">
      <TopBar>
        <span className="flex-1" />
        <NewChat />
      </TopBar>
      {gone ? (
        <EmptyState title="There is no such chat" action={<Link href="/" className="text-sm font-medium text-accent hover:underline">Begin a new one</Link>}>
          It may have been deleted, or it belongs to somebody else.
        </EmptyState>
      ) : (
        <ErrorState error={error} retry={retry} />
      )}
    </div>
  );
}

/** The key of the chat that is yet to begin; another one once that is used. */
let nextKey = keepOutbox(runs) ?? randomID();

function Open({ named, all, target }: { named: Session | null; all: Run[]; target: MessageID | null }) {
  const live = useSession(named?.id ?? null); // by its own id, which live changes name
  const session = live.data ?? named;
  const me = useMe();
  const readOnly = me.data !== undefined && me.data.transcripts !== "full";
  const origin = session?.id ?? nextKey;
  const mine = useMemo(() => runsIn(all, origin, session?.id ?? null), [all, origin, session?.id]);
  const run = mine.findLast((one) => one.question !== null) ?? mine.at(-1);
  const [restored, setRestored] = useState<{ text: string; pictures: Message["pictures"] } | null>(null);
  const [said, setSaid] = useState("");
  const tip = useRef<MessageID | "root" | null>(null);
  const onTip = useCallback((next: MessageID | "root" | null) => void (tip.current = next), []);
  useTitle(session ? titleOf(session) : "");
  useMoved(session, origin, all);

  const ask = useCallback(
    (question: Question) => {
      for (const old of runsIn(runs.all(), origin, session?.id ?? null)) if (old.phase === "ended") runs.drop(old.id);
      runs.ask(origin, session?.id ?? null, question);
      setSaid("The question was sent.");
    },
    [origin, session?.id],
  );
  const onSend = (message: Message) => {
    if (tip.current === null && session) {
      toast({ text: "The conversation is still loading. Send it again in a moment." });
      return false;
    }
    ask({ ...message, parent: tip.current ?? "root" });
    return true;
  };
  const empty = session === null && run === undefined;
  return (
    <section aria-label={session ? titleOf(session) : "New chat"} className="flex min-h-0 min-w-0 flex-1 flex-col">
      {session ? <Head session={session} /> : <NewHead />}
      {empty ? (
        <Welcome readOnly={readOnly} />
      ) : (
        <Suspense fallback={<ThreadToCome run={run} />}>
          <Thread
            key={session?.id ?? "new"}
            session={session}
            run={run}
            target={target}
            readOnly={readOnly}
            onAsk={ask}
            onRestore={(old) => setRestored({ text: old.question?.text ?? "", pictures: old.question?.pictures ?? [] })}
            onTip={onTip}
            onSay={setSaid}
          />
        </Suspense>
      )}
      {readOnly ? (
        session && <ReadOnly />
      ) : (
        <Composer view={session?.id ?? "new"} session={session} run={run} onSend={onSend} onStop={() => run && runs.stop(run.id)} restored={restored} />
      )}
      <p aria-live="polite" className="sr-only">{said}</p>
    </section>
  );
}

/** Stands in the thread's place while its code is fetched: only who asks within the first moments on a slow line sees it. */
const ThreadToCome = ({ run }: { run: Run | undefined }) => (
  <div className="mx-auto min-h-0 w-full max-w-3xl flex-1 px-4 pt-4 md:px-6" aria-busy="true">{run?.question && <Asked question={run.question} />}</div>
);

/** Goes along when a question turns out to belong to another session: a chat's first one, or /new. */
function useMoved(session: Session | null, origin: string, all: Run[]) {
  const client = useQueryClient();
  const [, go] = useLocation();
  const moved = all.find((run) => run.question !== null && run.origin === origin && run.session !== null && run.session !== session?.id);
  const [id, to, bare] = [moved?.id, moved?.session ?? null, moved !== undefined && moved.turn === null];
  const ready = moved !== undefined && (!bare || moved.phase === "ended");
  useEffect(() => {
    if (!ready || !id || !to) return;
    let here = true;
    api<Session>(sessionPath(to)).then(
      (next) => {
        if (!here) return;
        client.setQueryData(keys.session(next.friendly_id), next);
        client.setQueryData(keys.session(next.id), next);
        const model = runs.get(id)?.question?.model ?? null;
        if (model) keepModel(next.id, model);
        moveDraft(session?.id ?? "new", next.id);
        if (session === null) {
          keepModel("new", null);
          nextKey = randomID();
        }
        if (bare) {
          runs.drop(id);
          toast({ text: "A fresh chat has begun. What was said before stays in the old one." });
        }
        go(`/chat/${next.friendly_id}`, { replace: session === null });
      },
      () => {}, // the list will have it
    );
    return () => {
      here = false;
    };
  }, [ready, id, to]);
}

/** Stands in the composer's place where the server keeps no texts. */
function ReadOnly() {
  return (
    <div className="mx-auto w-full max-w-3xl px-4 pb-4 md:px-6">
      <Notice tone="soft" icon={<CircleSlash />}>
        This server keeps no texts (<code>sessions.transcripts</code>): there is only the shape of the conversation to see, and it goes on in the client that holds it.
      </Notice>
    </div>
  );
}

function NewHead() {
  return (
    <TopBar>
      <span className="flex-1 truncate px-1 text-sm font-medium">New chat</span>
    </TopBar>
  );
}

function Head({ session }: { session: Session }) {
  const [renaming, setRenaming] = useState(false);
  useEffect(() => setRenaming(false), [session.id]);
  const title = titleOf(session);
  const facts = [clientOf(session), session.project && projectName(session.project), session.upstream].filter(Boolean).join(" · ");
  const name = renaming ? (
    <Rename session={session} onDone={() => setRenaming(false)} className="max-w-md" />
  ) : (
    <h1 className="min-w-0 truncate text-sm font-semibold" title={title} onDoubleClick={() => setRenaming(true)}>{title}</h1>
  );
  const menu = <ChatMenu session={session} here onRename={() => setRenaming(true)} />;
  return (
    <>
      <header className="hidden h-13 shrink-0 items-center gap-3 border-b border-line px-6 md:flex">
        {name}
        {!renaming && facts !== "" && <span className="min-w-0 flex-1 truncate text-xs text-faint">{facts}</span>}
        {(renaming || facts === "") && <span className="flex-1" />}
        <Link
          href={`/sessions/${session.id}`}
          className="flex h-7 shrink-0 items-center gap-1.5 rounded-lg px-2 text-xs font-medium text-soft hover:bg-hover hover:text-ink"
          {...tip("Turns, cost and why this session")}
        >
          <ListTree className="size-4" /> Details
        </Link>
        {menu}
      </header>
      <TopBar>
        <span className="min-w-0 flex-1 px-1">{name}</span>
        {menu}
        <NewChat />
      </TopBar>
    </>
  );
}

