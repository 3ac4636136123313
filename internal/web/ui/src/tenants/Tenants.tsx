import { useQuery } from "@tanstack/react-query";
import { Search, Users } from "lucide-react";
import { useState } from "react";
import { ApiError, api } from "@/api/client";
import { useMe } from "@/api/hooks";
import { keys } from "@/api/keys";
import type { Place } from "@/api/types";
import { Page } from "@/app/Page";
import { EmptyState, ErrorState, Input } from "@/ui";
import { Slots } from "./Slots";

/** Whoever looks may wait for a slot to come up, or for a stream to end. */
const pace = 5_000;

/** The operator's page of the tenant edge: which slot is whose, and how it is. */
export default function Tenants() {
  const me = useMe();
  return (
    <Page title="Tenants">
      {me.data &&
        (me.data.role === "operator" ? (
          <Edge />
        ) : (
          <EmptyState icon={<Users />} title="This page is for operators">
            Sign in with a key of the role <code>operator</code> to see who holds which slot of the tenant edge.
          </EmptyState>
        ))}
    </Page>
  );
}

function Edge() {
  const [subject, setSubject] = useState("");
  const places = useQuery({
    queryKey: keys.tenants,
    queryFn: async ({ signal }) => (await api<{ tenants: Place[] }>("/api/tenants", { signal })).tenants,
    refetchInterval: pace,
    retry: (count, error) => !(error instanceof ApiError && error.status === 404) && count < 2,
  });
  const name = subject.trim();
  const found = useQuery({
    queryKey: [...keys.tenants, name],
    queryFn: async ({ signal }) => (await api<{ tenants: Place[] }>(`/api/tenants?subject=${encodeURIComponent(name)}`, { signal })).tenants[0]?.slot ?? null,
    enabled: name !== "",
    retry: false,
  });
  if (places.error instanceof ApiError && places.error.status === 404) {
    return (
      <EmptyState icon={<Users />} title="There is no tenant edge here">
        The edge gives each person a web UI of their own behind one address. This server runs none, so there are no slots to show. Sessions of all
        tenants are kept apart with or without it.
      </EmptyState>
    );
  }
  if (places.isError) return <ErrorState error={places.error} retry={() => void places.refetch()} />;
  if (!places.data) return <div className="animate-soft h-40 rounded-xl border border-line bg-raised" />;
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
        <Input
          icon={<Search />} type="search" value={subject} onChange={(event) => setSubject(event.target.value)} autoComplete="off" spellCheck={false}
          aria-label="Find a person's slot" placeholder="Find a person by their subject" className="w-full sm:w-72"
        />
        <p role="status" className="text-sm text-soft">{name ? told(found) : summary(places.data)}</p>
      </div>
      <Slots places={places.data} marked={name ? (found.data ?? null) : null} />
    </>
  );
}

function told(found: { data: string | null | undefined; isError: boolean }): string {
  if (found.isError) return "Nobody of that name has a slot.";
  return found.data ? `Theirs is ${found.data}.` : "";
}

function summary(places: Place[]): string {
  const count = (state: string) => places.filter((place) => place.state === state).length;
  const waiting = count("draining") + count("quarantined");
  const parts = [`${count("claimed")} of ${places.length} slots taken`, `${count("free")} free`];
  if (waiting > 0) parts.push(`${waiting} held`);
  return parts.join(", ");
}
