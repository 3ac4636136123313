import { ServerOff } from "lucide-react";
import { useMe, useUpstreams } from "@/api/hooks";
import { Page } from "@/app/Page";
import { EmptyState, ErrorState } from "@/ui";
import { List } from "./List";
import { Traffic } from "./Traffic";

/** Whoever looks at them is about to do something, or waits for one to become empty. */
const pace = 5_000;

export default function Upstreams() {
  const me = useMe();
  const operator = me.data?.role === "operator";
  const upstreams = useUpstreams(pace);
  const names = upstreams.data?.map((upstream) => upstream.name) ?? [];
  return (
    <Page title="Upstreams">
      {upstreams.data ? (
        upstreams.data.length > 0 ? <List upstreams={upstreams.data} operator={operator} /> : <None />
      ) : upstreams.isError ? (
        <ErrorState error={upstreams.error} retry={() => void upstreams.refetch()} />
      ) : (
        <div className="grid gap-3">
          {[0, 1].map((n) => <div key={n} className="animate-soft h-20 rounded-xl border border-line bg-raised" />)}
        </div>
      )}
      <Traffic names={names} all={operator} />
    </Page>
  );
}

function None() {
  return (
    <div className="rounded-xl border border-dashed border-line">
      <EmptyState icon={<ServerOff />} title="No upstream is configured">
        Add one under <code>upstreams:</code> in <code>mooring.yaml</code> and send the process a SIGHUP, or start it again.
      </EmptyState>
    </div>
  );
}
