import { ChevronDown } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useSession } from "@/api/hooks";
import type { CostedUsage, Session, SessionID } from "@/api/types";
import { Badge, clientName, CopyButton, cx, RelativeTime, StateBadge, Tokens } from "@/ui";
import { allTokens, hasTree } from "../list";
import { Price } from "../Price";
import { relations, sessionAddress, titleOf } from "../names";

/** What a session is, and what it has used. */
export function Facts({ session }: { session: Session }) {
  return (
    <div className="grid gap-3 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <dl className="grid grid-cols-2 content-start gap-x-6 gap-y-3.5 rounded-2xl border border-line bg-raised p-4 text-sm sm:grid-cols-4">
        <Fact name="State"><StateBadge state={session.state} /></Fact>
        <Fact name="Last activity"><RelativeTime at={session.updated_at} /></Fact>
        <Fact name="Begun"><RelativeTime at={session.created_at} /></Fact>
        <Fact name="Upstream">{session.upstream}</Fact>
        <Fact name="Client">{session.client && clientName(session.client)}</Fact>
        <Fact name="Project">{session.project}</Fact>
        <Fact name={session.models.length > 1 ? "Models" : "Model"} wide>{session.models.join(", ") || null}</Fact>
        <Fact name="Key" wide>
          <Code text={session.key} label="Copy the key" />
        </Fact>
        <Fact name="Id" wide>
          <Code text={session.id} label="Copy the id" />
        </Fact>
        <Relation session={session} />
      </dl>
      <Use session={session} />
    </div>
  );
}

/** The same on a phone: a line of it, and the rest on demand. */
export function FoldedFacts({ session }: { session: Session }) {
  const use = hasTree(session) ? session.tree_usage : session.usage;
  return (
    <details className="group/facts">
      <summary className="flex list-none items-center gap-2 rounded-xl border border-line bg-raised px-3.5 py-2.5 text-sm text-soft [&::-webkit-details-marker]:hidden">
        <span className="num flex min-w-0 flex-1 flex-wrap items-center gap-x-3 gap-y-1">
          <StateBadge state={session.state} />
          {session.upstream && <span>{session.upstream}</span>}
          <span><Tokens count={allTokens(use)} /> tokens</span>
          <Price use={use} alone />
        </span>
        <ChevronDown aria-label="All about this session" className="size-4 shrink-0 text-faint transition-transform group-open/facts:rotate-180" />
      </summary>
      <div className="pt-3"><Facts session={session} /></div>
    </details>
  );
}

function Fact({ name, wide, children }: { name: string; wide?: boolean; children: ReactNode }) {
  return (
    <div className={cx("min-w-0", wide && "col-span-2")}>
      <dt className="text-xs text-faint">{name}</dt>
      <dd className="mt-0.5 min-w-0 break-words">{children ?? <span className="text-faint">–</span>}</dd>
    </div>
  );
}

const Code = ({ text, label }: { text: string; label: string }) => (
  <span className="flex items-center gap-1">
    <code className="min-w-0 truncate text-[0.8125rem]" title={text}>{text}</code>
    <CopyButton text={text} label={label} className="-my-1" />
  </span>
);

function Relation({ session }: { session: Session }) {
  if (session.relation === "main" && session.parent_id === null) return null;
  const relation = session.relation === "main" ? null : relations[session.relation];
  return (
    <div className="col-span-full min-w-0">
      <dt className="text-xs text-faint">Stands below</dt>
      <dd className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1">
        {relation && <span title={relation.meaning}><Badge>{relation.word}</Badge></span>}
        {session.parent_id === null ? <span className="text-faint">nothing</span> : <Named id={session.parent_id} before="of" />}
        {session.root_id !== session.id && session.root_id !== session.parent_id && <Named id={session.root_id} before="in the tree of" />}
      </dd>
    </div>
  );
}

/** A link to another session, by its title. */
export function Named({ id, before }: { id: SessionID; before?: string }) {
  const other = useSession(id);
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-1">
      {before && <span className="shrink-0 text-faint">{before}</span>}
      <Link href={sessionAddress(id)} className="min-w-0 truncate font-medium text-accent hover:underline">
        {other.data ? titleOf(other.data) : id}
      </Link>
    </span>
  );
}

/** Tokens and cost, and those of the whole tree where there is one. */
function Use({ session }: { session: Session }) {
  const tree = hasTree(session);
  const lines: [string, (usage: CostedUsage) => ReactNode][] = [
    ["Input", (usage) => <Tokens count={usage.input_tokens} />],
    ["Read from cache", (usage) => <Tokens count={usage.cache_read_tokens} />],
    ["Written to cache", (usage) => <Tokens count={usage.cache_write_tokens} />],
    ["Output", (usage) => <Tokens count={usage.output_tokens} />],
    ["Cost", (usage) => <Price use={usage} />],
  ];
  return (
    <div className="rounded-2xl border border-line bg-raised p-4">
      <table className="num w-full text-sm">
        <caption className="sr-only">Tokens and cost</caption>
        <thead>
          <tr className="text-xs text-faint">
            <th scope="col" className="pb-1.5 text-left font-normal">Tokens</th>
            <th scope="col" className="pb-1.5 text-right font-normal">This session</th>
            {tree && <th scope="col" className="pb-1.5 text-right font-normal">With its tree</th>}
          </tr>
        </thead>
        <tbody>
          {lines.map(([name, show]) => (
            <tr key={name} className={cx(name === "Cost" && "border-t border-line font-medium")}>
              <th scope="row" className={cx("py-1 text-left", name === "Cost" ? "pt-2 font-medium" : "font-normal text-soft")}>{name}</th>
              <td className={cx("py-1 text-right", name === "Cost" && "pt-2")}>{show(session.usage)}</td>
              {tree && <td className={cx("py-1 pl-4 text-right", name === "Cost" && "pt-2")}>{show(session.tree_usage)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
