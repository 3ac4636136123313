import { Link } from "wouter";
import { EmptyState } from "@/ui";
import { useTitle } from "./Page";

export function NotFound() {
  useTitle("Not found");
  return (
    <EmptyState title="There is no page at this address" action={<Link href="/" className="text-sm font-medium text-accent hover:underline">Go to the chat</Link>}>
      It may have been mistyped, or the session it led to was deleted.
    </EmptyState>
  );
}
