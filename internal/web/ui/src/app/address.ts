import { useMemo } from "react";
import { usePathname, useSearch } from "wouter/use-browser-location";

// The router decodes an address once before it hands it on, which makes "%2526" another text than the one that was put there. What may
// hold any text is read from the address itself.

/** The address's query, as it stands there. */
export function useParams(): URLSearchParams {
  const search = useSearch();
  return useMemo(() => new URLSearchParams(search), [search]);
}

/** What stands in the path behind a prefix, decoded: of /sessions/a%2Fb behind "/sessions/" it is "a/b". */
export function usePathRest(prefix: string): string {
  const path = usePathname();
  const rest = path.startsWith(prefix) ? path.slice(prefix.length).replace(/\/$/, "") : "";
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}
