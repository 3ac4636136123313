import { Page } from "@/app/Page";
import { EmptyState } from "@/ui";

export default function Search() {
  return (
    <Page title="Search">
      <EmptyState title="This page is not built yet" />
    </Page>
  );
}
