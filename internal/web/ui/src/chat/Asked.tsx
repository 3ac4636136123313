import type { ReactNode } from "react";
import type { Question } from "./runs";

/** A question's bubble, of what was asked before and of what is being asked. */
export function Bubble({ children }: { children: ReactNode }) {
  return <div className="w-fit max-w-[92%] rounded-2xl rounded-br-md bg-accent-soft px-4 py-2.5 md:max-w-[80%]">{children}</div>;
}

/** A question that is being asked. */
export function Asked({ question }: { question: Question }) {
  return (
    <article aria-label="You" className="flex justify-end py-3">
      <Bubble>
        {question.text !== "" && <p className="break-words whitespace-pre-wrap">{question.text}</p>}
        {question.pictures.map((picture) => (
          <img key={picture.id} src={picture.url} alt={picture.name} className="my-1 block max-h-72 rounded-xl border border-line" />
        ))}
      </Bubble>
    </article>
  );
}
