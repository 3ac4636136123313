import { Page } from "@/app/Page";
import { EmptyState } from "@/ui";

export default function Session() {
  return (
    <Page title="Session">
      <EmptyState title="This page is not built yet" />
    </Page>
  );
}
