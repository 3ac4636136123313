import { Page } from "@/app/Page";
import { EmptyState } from "@/ui";

export default function Upstreams() {
  return (
    <Page title="Upstreams">
      <EmptyState title="This page is not built yet" />
    </Page>
  );
}
