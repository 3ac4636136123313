import { Page } from "@/app/Page";
import { EmptyState } from "@/ui";

export default function Chat() {
  return (
    <Page title="Chat">
      <EmptyState title="This page is not built yet" />
    </Page>
  );
}
