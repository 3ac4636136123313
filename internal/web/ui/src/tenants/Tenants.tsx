import { Users } from "lucide-react";
import { useMe } from "@/api/hooks";
import { Page } from "@/app/Page";
import { EmptyState } from "@/ui";

/** The operator's page of the tenant edge, which this version does not have. */
export default function Tenants() {
  const me = useMe();
  return (
    <Page title="Tenants">
      {me.data &&
        (me.data.role === "operator" ? (
          <EmptyState icon={<Users />} title="There is no tenant edge here">
            The edge gives each person a web UI of their own behind one address. This server runs none, so there are no slots to show. Sessions of all
            tenants are kept apart with or without it.
          </EmptyState>
        ) : (
          <EmptyState icon={<Users />} title="This page is for operators">
            Sign in with a key of the role <code>operator</code> to see who holds which slot of the tenant edge.
          </EmptyState>
        ))}
    </Page>
  );
}
