import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import { api, sessionPath } from "@/api/client";
import { keys } from "@/api/keys";
import { onChange } from "@/api/live";
import type { Session, SessionTree } from "@/api/types";
import { Badge, Button, cx, EmptyState, ErrorState, Skeleton, StateBadge, Tokens } from "@/ui";
import { GitFork } from "lucide-react";
import { allTokens } from "../list";
import { relations, sessionAddress, titleOf } from "../names";
import { Price } from "../Price";

export interface TreeNode {
  session: SessionTree;
  level: number;
}

/** The tree as lines, each parent above its children. */
export function linesOf(top: SessionTree): TreeNode[] {
  const out: TreeNode[] = [];
  const open: TreeNode[] = [{ session: top, level: 0 }];
  for (let node = open.pop(); node; node = open.pop()) {
    out.push(node);
    const { session, level } = node;
    for (const child of session.children.toReversed()) open.push({ session: child, level: level + 1 });
  }
  return out;
}

const pause = 2000; // ms between two readings of a tree whose sub-agents are at work

/** The whole tree that a session stands in. */
export function useTree(session: Session) {
  const client = useQueryClient();
  const root = session.root_id;
  const result = useQuery({
    queryKey: keys.tree(root),
    queryFn: ({ signal }) => api<SessionTree>(`${sessionPath(root)}/tree`, { signal }),
  });
  const lines = useMemo(() => (result.data ? linesOf(result.data) : []), [result.data]);
  const ids = useMemo(() => new Set(lines.map((line) => line.session.id)), [lines]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const stop = onChange((change) => {
      // A session that is not in the tree yet may have begun in it, if something in it is at work.
      const near = change.session_id !== undefined && (ids.has(change.session_id) || change.event === "turn.started");
      if (!near) return;
      timer ??= setTimeout(() => {
        timer = null;
        void client.invalidateQueries({ queryKey: keys.tree(root) });
      }, pause);
    });
    return () => {
      stop();
      if (timer) clearTimeout(timer);
    };
  }, [client, root, ids]);
  return { lines, count: lines.length, isPending: result.isPending, error: result.error, refetch: result.refetch };
}

const shownAtFirst = 300;

export function Tree({ session, tree }: { session: Session; tree: ReturnType<typeof useTree> }) {
  const [whole, setWhole] = useState(false);
  if (tree.error && tree.count === 0) return <ErrorState error={tree.error} retry={() => void tree.refetch()} title="The tree could not be loaded" />;
  if (tree.isPending) return <Skeleton className="h-32" />;
  if (tree.count <= 1) {
    return (
      <EmptyState icon={<GitFork />} title="This session stands alone">
        Sub-agents that it gives tasks to, and forks of its messages, appear here with what all of them used.
      </EmptyState>
    );
  }
  const shown = whole ? tree.lines : tree.lines.slice(0, shownAtFirst);
  return (
    <>
      <div className="overflow-x-auto">
        <table className="num w-full text-sm">
          <caption className="sr-only">The tree of sub-agents and forks</caption>
          <thead>
            <tr className="border-b border-line text-xs text-faint [&>th]:h-8 [&>th]:px-3 [&>th]:font-medium">
              <th scope="col" className="text-left">Session</th>
              <th scope="col" className="text-left max-sm:hidden">State</th>
              <th scope="col" className="text-right max-sm:hidden">Turns</th>
              <th scope="col" className="text-right max-sm:hidden">Own tokens</th>
              <th scope="col" className="text-right whitespace-nowrap">With tree</th>
              <th scope="col" className="text-right">Cost</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ session: one, level }) => (
              <Line key={one.id} session={one} level={level} here={one.id === session.id} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < tree.count && (
        <div className="flex justify-center pt-4">
          <Button onClick={() => setWhole(true)}>Show all {tree.count} sessions</Button>
        </div>
      )}
    </>
  );
}

const indents = ["pl-3", "pl-8", "pl-13", "pl-18", "pl-23"];

function Line({ session, level, here }: { session: SessionTree; level: number; here: boolean }) {
  const relation = session.relation === "main" ? null : relations[session.relation];
  return (
    <tr className={cx("border-b border-line/70 [&>td]:h-11 [&>td]:px-3", here ? "bg-accent-soft/60" : "hover:bg-hover/60")}>
      <td className={cx("max-w-0 min-w-44 sm:w-1/2", indents[Math.min(level, indents.length - 1)])}>
        <span className="flex items-center gap-2">
          {level > 0 && <span aria-hidden className="-mt-2 h-3 w-2.5 shrink-0 rounded-bl-md border-b border-l border-line-strong/60" />}
          {here ? (
            <span aria-current="page" className="min-w-0 truncate font-semibold">{titleOf(session)}</span>
          ) : (
            <Link href={sessionAddress(session.id)} className="min-w-0 truncate font-medium hover:text-accent hover:underline" title={titleOf(session)}>
              {titleOf(session)}
            </Link>
          )}
          {relation && <span title={relation.meaning} className="shrink-0 max-sm:sr-only"><Badge>{relation.word}</Badge></span>}
          {level > 0 && <span className="sr-only">, level {level + 1}</span>}
        </span>
      </td>
      <td className="max-sm:hidden"><StateBadge state={session.state} /></td>
      <td className="text-right text-soft max-sm:hidden">{session.turns}</td>
      <td className="text-right text-soft max-sm:hidden"><Tokens count={allTokens(session.usage)} /></td>
      <td className="text-right text-soft"><Tokens count={allTokens(session.tree_usage)} /></td>
      <td className="text-right text-soft"><Price use={session.tree_usage} /></td>
    </tr>
  );
}
