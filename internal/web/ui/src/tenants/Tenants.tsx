import { Page } from "@/app/Page";
import { EmptyState } from "@/ui";

export default function Tenants() {
  return (
    <Page title="Tenants">
      <EmptyState title="This page is not built yet" />
    </Page>
  );
}
