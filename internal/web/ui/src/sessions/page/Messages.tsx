import { ChevronLeft, ChevronRight, GitFork, MessageSquare, MessagesSquare } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { ApiError, api, sentence, sessionPath } from "@/api/client";
import { useMe } from "@/api/hooks";
import type { Message, MessageID, Session } from "@/api/types";
import { Blocks, type Results } from "@/chat/Message";
import { arrange, type Shown } from "@/chat/parts";
import { Badge, Button, CopyButton, cx, EmptyState, ErrorState, IconButton, RelativeTime, Skeleton, toast, Unprinted } from "@/ui";
import { chatAddress, sessionAddress } from "../names";
import { place, useBranch } from "./branch";

interface MessagesProps {
  session: Session;
  tip: MessageID | null;
  onTip: (tip: MessageID | null) => void;
}

/** What was said, branch by branch. */
export default function Messages({ session, tip, onTip }: MessagesProps) {
  const branch = useBranch(session.id, tip);
  const me = useMe();
  useShow(tip, branch.found && !branch.isPlaceholderData);
  const { shown, results } = arrange(branch.messages);
  if (branch.error && branch.messages.length === 0) {
    if (tip !== null && branch.error instanceof ApiError && branch.error.status === 404) return <GoneTip onTip={onTip} />;
    return <ErrorState error={branch.error} retry={() => void branch.refetch()} title="The messages could not be loaded" />;
  }
  if (branch.isPending) return <Waiting />;
  if (branch.messages.length === 0) return <EmptyState icon={<MessagesSquare />} title="No messages">Nothing has been said in this session yet.</EmptyState>;
  return (
    <section aria-label="Messages" className={cx("mx-auto w-full max-w-3xl", branch.isPlaceholderData && "opacity-60")}>
      {me.data && me.data.transcripts !== "full" && (
        <p className="mb-4 rounded-xl bg-warn-soft px-4 py-2.5 text-sm text-warn">This server keeps no texts (`transcripts: {me.data.transcripts}`): the messages are listed without what they say.</p>
      )}
      {tip !== null && (
        <p className="mb-4 flex flex-wrap items-center justify-between gap-2 rounded-xl bg-sunken px-4 py-2 text-sm text-soft">
          You are reading the branch that goes through one message.
          <Button size="sm" onClick={() => onTip(null)}>Show the current branch</Button>
        </p>
      )}
      {branch.hasNextPage && (
        <>
          <div className="flex justify-center pb-4 print:hidden">
            <Button busy={branch.isFetchingNextPage} onClick={() => void branch.fetchNextPage()}>Show earlier messages</Button>
          </div>
          <Unprinted>These are the last {branch.messages.length} messages. Those before them are on paper too when they were shown; the session’s export has all of them.</Unprinted>
        </>
      )}
      <ol className="flex flex-col">
        {shown.map((one) => (
          <OneMessage key={one.message.id} shown={one} results={results} session={session} marked={one.message.id === tip} onTip={onTip} />
        ))}
      </ol>
    </section>
  );
}

/** Brings the message that was asked for into sight, once. */
function useShow(tip: MessageID | null, there: boolean) {
  const done = useRef<MessageID | null>(null);
  useEffect(() => {
    if (tip === null || !there || done.current === tip) return;
    done.current = tip;
    document.getElementById(`m-${tip}`)?.scrollIntoView({ block: "center" });
  }, [tip, there]);
}

const roles: Record<string, string> = { user: "User", assistant: "Assistant", system: "System", developer: "Developer", tool: "Tool" };

function OneMessage({ shown, results, session, marked, onTip }: { shown: Shown; results: Results; session: Session; marked: boolean; onTip: (tip: MessageID) => void }) {
  const { message, blocks } = shown;
  return (
    <li
      id={`m-${message.id}`}
      className={cx("group/message scroll-mt-32 border-t border-line/70 py-3.5 first:border-0", marked && "-mx-4 rounded-xl bg-accent-soft/60 px-4")}
    >
      <div className="mb-1 flex min-h-7 flex-wrap items-center gap-x-2.5 gap-y-1 text-sm">
        <h2 className={cx("font-semibold", message.role === "assistant" ? "text-accent" : message.role === "user" ? "" : "text-soft")}>{roles[message.role] ?? message.role}</h2>
        <RelativeTime at={message.created_at} className="text-xs text-faint" />
        {message.state !== "completed" && <Badge tone={message.state === "failed" ? "bad" : "neutral"}>{message.state === "cancelled" ? "stopped" : message.state}</Badge>}
        <Branches message={message} onTip={onTip} />
        <span className="ml-auto flex items-center opacity-0 transition-opacity group-focus-within/message:opacity-100 group-hover/message:opacity-100 pointer-coarse:opacity-100">
          <CopyButton text={message.text} label="Copy the text" />
          <OpenHere session={session} id={message.id} />
          <ForkHere session={session} id={message.id} />
        </span>
      </div>
      {blocks.length === 0 ? <p className="text-sm text-faint">No text is kept.</p> : <Blocks blocks={blocks} results={results} user={message.role !== "assistant"} />}
    </li>
  );
}

function Branches({ message, onTip }: { message: Message; onTip: (tip: MessageID) => void }) {
  const at = place(message);
  if (!at) return null;
  if (at.at === null) return <Badge>{at.of} versions</Badge>;
  return (
    <span role="group" aria-label={`Version ${at.at} of ${at.of}`} className="num flex items-center text-xs text-soft">
      <IconButton label="The version before" size="sm" disabled={!at.before} onClick={() => at.before && onTip(at.before)}>
        <ChevronLeft className="size-4" />
      </IconButton>
      {at.at} / {at.of}
      <IconButton label="The version after" size="sm" disabled={!at.after} onClick={() => at.after && onTip(at.after)}>
        <ChevronRight className="size-4" />
      </IconButton>
    </span>
  );
}

function OpenHere({ session, id }: { session: Session; id: MessageID }) {
  const [, go] = useLocation();
  return (
    <IconButton label="Open the chat here" size="sm" onClick={() => go(chatAddress(session, id))}>
      <MessageSquare className="size-4" />
    </IconButton>
  );
}

function ForkHere({ session, id }: { session: Session; id: MessageID }) {
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const fork = async () => {
    setBusy(true);
    try {
      const made = await api<Session>(`${sessionPath(session.id)}/fork`, { method: "POST", body: { message_id: id } });
      toast({ text: "Forked: this is a session of its own", action: { label: "Go back", run: () => go(sessionAddress(session.id, id)) } });
      go(`${sessionAddress(made.id)}?tab=messages`);
    } catch (error) {
      toast({ text: sentence(error), tone: "bad" });
    }
    setBusy(false);
  };
  return (
    <IconButton label="Fork: a new session that ends here" size="sm" disabled={busy} onClick={() => void fork()}>
      <GitFork className="size-4" />
    </IconButton>
  );
}

const GoneTip = ({ onTip }: { onTip: (tip: null) => void }) => (
  <EmptyState title="That message is not here any more" action={<Button onClick={() => onTip(null)}>Show the current branch</Button>}>
    The address names a message that this session does not have.
  </EmptyState>
);

const Waiting = () => (
  <div aria-busy="true" aria-label="Loading" className="mx-auto flex w-full max-w-3xl flex-col gap-6">
    {Array.from({ length: 3 }, (_, i) => <Skeleton key={i} className="h-20" />)}
  </div>
);
