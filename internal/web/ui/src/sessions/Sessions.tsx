import { Page } from "@/app/Page";
import { EmptyState } from "@/ui";

export default function Sessions() {
  return (
    <Page title="Sessions">
      <EmptyState title="This page is not built yet" />
    </Page>
  );
}
