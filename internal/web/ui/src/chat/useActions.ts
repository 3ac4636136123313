import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef } from "react";
import { api, sentence, sessionPath } from "@/api/client";
import { keys } from "@/api/keys";
import type { Message, MessageID, Session } from "@/api/types";
import { toast } from "@/ui";
import type { Actions } from "./Message";
import { blocksOf, typedText } from "./parts";
import { pictureFrom } from "./pictures";
import type { Question } from "./runs";
import { leafBelow } from "./useThread";

interface Options {
  session: Session | null;
  messages: Message[];
  /** Nothing can be asked: an answer comes, or the page is for reading. */
  locked: boolean;
  onAsk: (question: Question) => void;
  onTip: (tip: MessageID) => void;
}

/** What can be done with a stored message. The result stays the same while messages come, so that those on the screen need not be drawn again. */
export function useActions(options: Options): Actions {
  const client = useQueryClient();
  const latest = useRef(options);
  latest.current = options;
  const id = options.session?.id;
  const branchTo = useCallback(
    async (to: MessageID) => {
      if (!id) return;
      try {
        const leaf = await leafBelow(id, to);
        latest.current.onTip(leaf);
        await api<Session>(sessionPath(id), { method: "PATCH", body: { tip: leaf } });
        await client.invalidateQueries({ queryKey: keys.messages(id) });
      } catch (error) {
        toast({ text: sentence(error), tone: "bad" });
      }
    },
    [client, id],
  );
  return useMemo<Actions>(() => {
    const branch = (to: MessageID) => void branchTo(to);
    if (options.locked) return { branch };
    const ask = (question: Message, text: string) =>
      latest.current.onAsk({ text, pictures: picturesIn(question), model: null, parent: question.parent_id ?? "root" });
    return {
      branch,
      edit: ask,
      retry: (answer) => {
        const question = questionOf(latest.current.messages, answer);
        if (question) ask(question, typedText(question));
      },
    };
  }, [options.locked, branchTo]);
}

const picturesIn = (message: Message) =>
  blocksOf(message).flatMap((block) => {
    const picture = block.kind === "image" && block.url ? pictureFrom(block.url) : null;
    return picture ? [picture] : [];
  });

/** What an answer answers: the nearest message above it that somebody typed. */
export function questionOf(messages: Message[], answer: Message): Message | undefined {
  if (answer.role === "user") return answer;
  const at = messages.findIndex((message) => message.id === answer.id);
  return messages.slice(0, Math.max(at, 0)).findLast((message) => message.role === "user" && (typedText(message) !== "" || picturesIn(message).length > 0));
}
