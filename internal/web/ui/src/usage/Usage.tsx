import { Page } from "@/app/Page";
import { EmptyState } from "@/ui";

export default function Usage() {
  return (
    <Page title="Usage">
      <EmptyState title="This page is not built yet" />
    </Page>
  );
}
