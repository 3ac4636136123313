import { EmptyState } from "@/ui";

/** Stands without the shell; `?back=/path` is where to go afterwards. */
export default function SignIn() {
  return <EmptyState title="This page is not built yet" />;
}
