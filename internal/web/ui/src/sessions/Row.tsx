import { ChevronRight, Ellipsis, Pin } from "lucide-react";
import { memo, type MouseEvent } from "react";
import { Link } from "wouter";
import type { Session } from "@/api/types";
import { Badge, clientName, cx, Menu, projectName, RelativeTime, Spinner, StateBadge, Tokens } from "@/ui";
import { OpenChat, SessionActions } from "./actions";
import { columnsOf, placeOf } from "./columns";
import { allTokens } from "./list";
import { relations, sessionAddress, titleOf } from "./names";
import { Price } from "./Price";
import type { Row } from "./rows";

interface Place {
  index: number;
  top: number;
  height: number;
  wide: boolean;
  projects: boolean;
  current: boolean;
  onFocus: (key: string) => void;
  onOpen: (event: MouseEvent, row: Row) => void;
}

interface SessionRowProps extends Place {
  row: Row & { kind: "session" };
  onToggle: (row: Row) => void;
  onRename: (session: Session) => void;
  onChanged: (session: Session) => void;
}

const frame = "absolute inset-x-0 top-0 border-b border-line/70 px-4 outline-offset-[-2px] md:px-3";

const indents = ["", "pl-5", "pl-10", "pl-15"];
const indent = (level: number) => indents[Math.min(level - 1, indents.length - 1)];

export const SessionRow = memo(function SessionRow(props: SessionRowProps) {
  const { row, index, top, height, wide, current, onFocus, onOpen } = props;
  return (
    <div
      role="row"
      tabIndex={current ? 0 : -1}
      data-row={row.key}
      aria-rowindex={index + 2}
      aria-level={row.level}
      aria-expanded={row.opens ? row.open : undefined}
      onFocus={() => onFocus(row.key)}
      onClick={(event) => onOpen(event, row)}
      style={{ height, transform: `translateY(${top}px)` }}
      className={cx(frame, "group/row cursor-pointer hover:bg-hover/60", row.level > 1 && "bg-canvas")}
    >
      {wide ? <WideCells {...props} /> : <Card {...props} />}
    </div>
  );
});

function WideCells({ row, projects, current, onToggle, onRename, onChanged }: SessionRowProps) {
  const { session } = row;
  const use = row.opens ? session.tree_usage : session.usage;
  return (
    <div role="presentation" className={cx(columnsOf(projects).grid, "h-full text-sm")}>
      <span role="gridcell" className={cx("flex min-w-0 items-center gap-1", indent(row.level))}>
        <Expander row={row} onToggle={onToggle} />
        <Title session={session} />
      </span>
      <Text value={session.client && clientName(session.client)} className={placeOf("Client")} />
      {projects && <Text value={session.project && projectName(session.project)} full={session.project} className={placeOf("Project")} />}
      <Text value={session.upstream} className={placeOf("Upstream")} />
      <span role="gridcell">
        <StateBadge state={session.state} />
      </span>
      <span role="gridcell" className="num text-right text-soft">{session.turns}</span>
      <span role="gridcell" className="num text-right text-soft">
        <Tokens count={allTokens(use)} />
        {row.opens && <span className="sr-only"> with sub-agents</span>}
      </span>
      <span role="gridcell" className="num text-right text-soft">
        <Price use={use} />
      </span>
      <span role="gridcell" className="num truncate text-right text-soft">
        <RelativeTime at={session.updated_at} />
      </span>
      <span role="gridcell" className="-mr-1">
        <RowMenu session={session} current={current} onRename={onRename} onChanged={onChanged} />
      </span>
    </div>
  );
}

/** A phone's row: the same, in two lines. */
function Card({ row, current, onToggle, onRename, onChanged }: SessionRowProps) {
  const { session } = row;
  const use = row.opens ? session.tree_usage : session.usage;
  const from = [session.client && clientName(session.client), session.project && projectName(session.project), session.upstream].filter(Boolean).join(" · ");
  return (
    <div role="presentation" className={cx("flex h-full flex-col justify-center gap-0.5", indent(row.level))}>
      <div role="presentation" className="flex items-center gap-1">
        <span role="gridcell" className="flex min-w-0 flex-1 items-center gap-1">
          {row.opens && <Expander row={row} onToggle={onToggle} />}
          <Title session={session} />
        </span>
        <span role="gridcell" className="num shrink-0 text-xs text-faint">
          <RelativeTime at={session.updated_at} />
        </span>
        <span role="gridcell" className="-mr-1.5">
          <RowMenu session={session} current={current} onRename={onRename} onChanged={onChanged} />
        </span>
      </div>
      {from !== "" && <span role="gridcell" className="truncate text-xs text-faint">{from}</span>}
      <span role="gridcell" className="num flex items-center gap-3 text-xs text-soft">
        <StateBadge state={session.state} />
        <span>{session.turns} {session.turns === 1 ? "turn" : "turns"}</span>
        {allTokens(use) !== null && (
          <>
            <span><Tokens count={allTokens(use)} /> tokens</span>
            <Price use={use} alone />
          </>
        )}
      </span>
    </div>
  );
}

function Expander({ row, onToggle }: { row: Row & { kind: "session" }; onToggle: (row: Row) => void }) {
  if (!row.opens) return <span className="w-5 shrink-0" />;
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-label={row.open ? "Hide sub-agents" : "Show sub-agents"}
      onClick={() => onToggle(row)}
      className="-my-1 flex size-6 pointer-coarse:-my-2 pointer-coarse:-mr-2.5 pointer-coarse:-ml-3 pointer-coarse:size-10 shrink-0 items-center justify-center rounded-md text-faint -ml-1 hover:bg-hover hover:text-ink"
    >
      <ChevronRight className={cx("size-4 transition-transform", row.open && "rotate-90")} />
    </button>
  );
}

function Title({ session }: { session: Session }) {
  const relation = session.relation === "main" ? null : relations[session.relation];
  return (
    <>
      {session.pinned && <Pin aria-label="Pinned" className="size-3.5 shrink-0 fill-current text-accent" />}
      <Link href={sessionAddress(session.id)} tabIndex={-1} title={titleOf(session)} className={cx("min-w-0 truncate font-medium", session.title.trim() === "" && "text-soft")}>
        {titleOf(session)}
      </Link>
      {relation && <span title={relation.meaning} className="ml-1 inline-flex shrink-0"><Badge>{relation.word}</Badge></span>}
      {session.archived && <Badge className="ml-1 shrink-0">archived</Badge>}
    </>
  );
}

function Text({ value, full = value, className }: { value: string | null; full?: string | null; className: string }) {
  return (
    <span role="gridcell" title={full ?? undefined} className={cx("truncate text-soft", className)}>
      {value ?? <span className="text-faint">–</span>}
    </span>
  );
}

function RowMenu({ session, current, onRename, onChanged }: { session: Session; current: boolean; onRename: (session: Session) => void; onChanged: (session: Session) => void }) {
  return (
    <Menu
      trigger={
        // Without a tooltip, which is dear where hundreds of rows come and go.
        <button
          type="button"
          aria-label="Actions"
          tabIndex={current ? 0 : -1}
          className="flex size-7 items-center justify-center rounded-lg pointer-coarse:-my-2 pointer-coarse:size-10 text-faint hover:bg-hover hover:text-ink"
        >
          <Ellipsis className="size-4" />
        </button>
      }
    >
      <OpenChat session={session} />
      <SessionActions session={session} onChanged={onChanged} onRename={() => onRename(session)} />
    </Menu>
  );
}

const notes = {
  loading: "Loading sub-agents",
  failed: "The sub-agents could not be loaded. Close and open the row to try again.",
  more: "There are more. The session’s own page shows the whole tree.",
  none: "No sub-agents are left here.",
};

export function NoteRow({ row, index, top, height, current, onFocus, onOpen }: Place & { row: Row & { kind: "note" } }) {
  return (
    <div
      role="row"
      tabIndex={current ? 0 : -1}
      data-row={row.key}
      aria-rowindex={index + 2}
      aria-level={row.level}
      onFocus={() => onFocus(row.key)}
      onClick={(event) => onOpen(event, row)}
      style={{ height, transform: `translateY(${top}px)` }}
      className={cx(frame, "flex items-center bg-canvas text-sm text-faint")}
    >
      <span role="gridcell" className={cx("flex items-center gap-2 pl-6", indent(row.level))}>
        {row.note === "loading" && <Spinner />} {notes[row.note]}
      </span>
    </div>
  );
}
