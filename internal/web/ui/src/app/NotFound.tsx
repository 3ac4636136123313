import { FileQuestion } from "lucide-react";
import { Link } from "wouter";
import { EmptyState } from "@/ui";
import { TopBar, useTitle } from "./Page";

export function NotFound() {
  useTitle("Not found");
  return (
    <div className="flex h-full flex-col justify-center bg-page pb-[12vh]">
      <TopBar>
        <span className="flex-1 truncate px-1 text-sm font-semibold">Not found</span>
      </TopBar>
      <h1 className="sr-only">Not found</h1>
      <EmptyState icon={<FileQuestion />} title="There is no page at this address" action={<Link href="/" className={way}>Go to the chat</Link>}>
        It may have been mistyped, or what it led to is gone. Everything that is kept is in the sessions and in the search.
      </EmptyState>
    </div>
  );
}

const way = "inline-flex h-9 items-center rounded-lg border border-line bg-raised px-3.5 text-sm font-medium shadow-low transition-colors hover:bg-hover pointer-coarse:h-10";
