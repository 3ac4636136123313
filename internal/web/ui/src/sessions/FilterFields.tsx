import { useMemo, useRef } from "react";
import { useUpstreams } from "@/api/hooks";
import type { Session } from "@/api/types";
import { clientName, Select } from "@/ui";
import { shows, states, type Filters } from "./filters";

interface FilterFieldsProps {
  filters: Filters;
  rows: Session[];
  onChange: (change: Partial<Filters>) => void;
}

/** The choices that narrow the list. Clients and projects are those that have been seen in it. */
export function FilterFields({ filters, rows, onChange }: FilterFieldsProps) {
  const upstreams = useUpstreams();
  const clients = useSeen(rows, "client", filters.client);
  const projects = useSeen(rows, "project", filters.project);
  const names = useSeen(rows, "upstream", filters.upstream, upstreams.data?.map((one) => one.name));
  return (
    <>
      <Select aria-label="Show" value={filters.show} onChange={(event) => onChange({ show: event.target.value as Filters["show"] })}>
        {shows.map(({ value, label }) => (
          <option key={value} value={value}>{label}</option>
        ))}
      </Select>
      <Select aria-label="State" value={filters.state} onChange={(event) => onChange({ state: event.target.value as Filters["state"] })}>
        <option value="">Any state</option>
        {states.map(({ value, label }) => (
          <option key={value} value={value}>{label}</option>
        ))}
      </Select>
      <Names label="client" any="Any client" value={filters.client} names={clients} called={clientName} onChange={(client) => onChange({ client })} />
      <Names label="project" any="Any project" value={filters.project} names={projects} onChange={(project) => onChange({ project })} />
      <Names label="upstream" any="Any upstream" value={filters.upstream} names={names} onChange={(upstream) => onChange({ upstream })} />
    </>
  );
}

interface NamesProps {
  label: string;
  any: string;
  value: string;
  names: string[];
  called?: (name: string) => string;
  onChange: (value: string) => void;
}

function Names({ label, any, value, names, called = (name) => name, onChange }: NamesProps) {
  if (names.length === 0) return null;
  return (
    <Select aria-label={`Of the ${label}`} className="max-w-44 min-w-0 truncate" value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{any}</option>
      {names.map((name) => (
        <option key={name} value={name}>{called(name)}</option>
      ))}
    </Select>
  );
}

/** The names seen in the rows so far: a narrower list does not take the others out of the choice. */
function useSeen(rows: Session[], field: "client" | "project" | "upstream", chosen: string, more: string[] = []): string[] {
  const seen = useRef(new Set<string>());
  const others = more.join("\n");
  return useMemo(() => {
    for (const row of rows) if (row[field]) seen.current.add(row[field]);
    for (const name of others.split("\n")) if (name) seen.current.add(name);
    if (chosen) seen.current.add(chosen);
    return [...seen.current].sort((a, b) => a.localeCompare(b));
  }, [rows, field, chosen, others]);
}
