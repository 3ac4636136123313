import { Archive, ArchiveRestore, ListTree, MoreHorizontal, Pencil, Pin, PinOff, Trash2 } from "lucide-react";
import { useLocation } from "wouter";
import type { Session } from "@/api/types";
import { IconButton, Menu, MenuItem, MenuLine, toast } from "@/ui";
import { useChangeSession } from "./actions";
import { removeLater } from "./removal";

interface ChatMenuProps {
  session: Session;
  onRename: () => void;
  /** Whether the chat is the one on the screen: deleting it leaves it. */
  here: boolean;
  className?: string;
}

export function ChatMenu({ session, onRename, here, className }: ChatMenuProps) {
  const change = useChangeSession();
  const [, go] = useLocation();
  const address = `/chat/${session.friendly_id}`;
  const archive = () => {
    void change(session, { archived: !session.archived });
    if (session.archived) return;
    toast({ text: "Archived. It is found by search and under Archived.", action: { label: "Undo", run: () => void change(session, { archived: false }) } });
  };
  const remove = () => {
    removeLater(session, () => here && go(address));
    if (here) go("/");
  };
  return (
    <Menu
      trigger={
        <IconButton label="More" size="sm" className={className}>
          <MoreHorizontal className="size-4" />
        </IconButton>
      }
    >
      <MenuItem icon={<Pencil />} onSelect={onRename}>Rename</MenuItem>
      <MenuItem icon={session.pinned ? <PinOff /> : <Pin />} onSelect={() => void change(session, { pinned: !session.pinned })}>
        {session.pinned ? "Unpin" : "Pin"}
      </MenuItem>
      <MenuItem icon={session.archived ? <ArchiveRestore /> : <Archive />} onSelect={archive}>
        {session.archived ? "Take out of the archive" : "Archive"}
      </MenuItem>
      <MenuItem icon={<ListTree />} onSelect={() => go(`/sessions/${session.id}`)}>Turns and cost</MenuItem>
      <MenuLine />
      <MenuItem icon={<Trash2 />} danger onSelect={remove}>Delete</MenuItem>
    </Menu>
  );
}
