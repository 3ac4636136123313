import { useQueryClient } from "@tanstack/react-query";
import { Archive, ArchiveRestore, MessageSquare, Pencil, Pin, PinOff, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, sentence, sessionPath } from "@/api/client";
import { keys } from "@/api/keys";
import type { Session } from "@/api/types";
import { removeLater } from "@/chat/removal";
import { Button, Dialog, Input, MenuItem, MenuLine, toast } from "@/ui";
import { chatAddress, titleOf } from "./names";

interface ActionsProps {
  session: Session;
  onChanged: (session: Session) => void;
  onRemoved?: (() => void) | undefined;
  onRename: () => void;
}

/** The way to the chat, as the first item of a menu; not where a button beside it is that. */
export function OpenChat({ session }: { session: Session }) {
  const [, go] = useLocation();
  return (
    <>
      <MenuItem icon={<MessageSquare />} onSelect={() => go(chatAddress(session))}>Open the chat</MenuItem>
      <MenuLine />
    </>
  );
}

/** What one can do with a session, as the items of a menu. */
export function SessionActions({ session, onChanged, onRemoved, onRename }: ActionsProps) {
  const change = useChange(onChanged);
  const archive = async () => {
    if (!(await change(session, { archived: !session.archived }))) return;
    toast({
      text: session.archived ? "Back among the conversations" : "Archived",
      action: { label: "Undo", run: () => void change(session, { archived: session.archived }) },
    });
  };
  return (
    <>
      <MenuItem icon={session.pinned ? <PinOff /> : <Pin />} onSelect={() => void change(session, { pinned: !session.pinned })}>
        {session.pinned ? "Unpin" : "Pin"}
      </MenuItem>
      <MenuItem icon={<Pencil />} onSelect={onRename}>Rename…</MenuItem>
      <MenuItem icon={session.archived ? <ArchiveRestore /> : <Archive />} onSelect={() => void archive()}>
        {session.archived ? "Take out of the archive" : "Archive"}
      </MenuItem>
      <MenuLine />
      <MenuItem
        icon={<Trash2 />}
        danger
        onSelect={() => {
          removeLater(session);
          onRemoved?.();
        }}
      >
        Delete
      </MenuItem>
    </>
  );
}

/** Changes a session and says so where it did not work. */
export function useChange(onChanged: (session: Session) => void) {
  const client = useQueryClient();
  return async (session: Session, body: { title?: string; pinned?: boolean; archived?: boolean; tip?: string }): Promise<boolean> => {
    try {
      const changed = await api<Session>(sessionPath(session.id), { method: "PATCH", body });
      client.setQueryData(keys.session(session.id), changed);
      onChanged(changed);
      return true;
    } catch (error) {
      toast({ text: sentence(error), tone: "bad" });
      return false;
    }
  };
}

/** Asks for another title. It stands once on a page; `session` null is closed. */
export function RenameDialog({ session, onClose, onChanged }: { session: Session | null; onClose: () => void; onChanged: (session: Session) => void }) {
  return (
    <Dialog open={session !== null} onClose={onClose} title="Rename">
      {session && <RenameForm session={session} onClose={onClose} onChanged={onChanged} />}
    </Dialog>
  );
}

const longestTitle = 200;

/** Where a dialog puts the focus as it opens. React has no attribute for it: its own focuses before the dialog is there. */
const beginHere = (field: HTMLInputElement | null) => field?.setAttribute("autofocus", "");

function RenameForm({ session, onClose, onChanged }: { session: Session; onClose: () => void; onChanged: (session: Session) => void }) {
  const [title, setTitle] = useState(session.title);
  const [busy, setBusy] = useState(false);
  const change = useChange(onChanged);
  return (
    <form
      onSubmit={async (event) => {
        event.preventDefault();
        setBusy(true);
        if (await change(session, { title: title.trim() })) onClose();
        setBusy(false);
      }}
    >
      <Input
        aria-label="Title"
        ref={beginHere}
        value={title}
        maxLength={longestTitle}
        placeholder={titleOf({ ...session, title: "" })}
        onFocus={(event) => event.currentTarget.select()}
        onChange={(event) => setTitle(event.target.value)}
      />
      <div className="mt-4 flex justify-end gap-2">
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" busy={busy}>Save</Button>
      </div>
    </form>
  );
}
