import { Component, useEffect, useRef, type ReactNode } from "react";
import { useLiveState } from "@/api/live";
import { Button, EmptyState } from "@/ui";

type Broken = "no" | "code" | "page";

/** Keeps the shell alive when a page breaks, or when its code cannot be fetched. */
export class Boundary extends Component<{ children: ReactNode }, { broken: Broken }> {
  override state: { broken: Broken } = { broken: "no" };

  static getDerivedStateFromError(error: unknown) {
    return { broken: isMissingCode(error) ? "code" : "page" };
  }

  override componentDidCatch(error: unknown) {
    console.error(error);
  }

  override render() {
    if (this.state.broken === "no") return this.props.children;
    if (this.state.broken === "code") return <MissingCode />;
    return (
      <EmptyState title="This page broke" action={<Reload />}>
        Nothing you have sent is lost. Reloading helps; if it happens again, the browser’s console says more.
      </EmptyState>
    );
  }
}

/** What browsers say of a chunk that is not there: an upgrade has removed it, or the server is away. */
const isMissingCode = (error: unknown) =>
  error instanceof Error && /dynamically imported module|importing a module script failed|unable to preload/i.test(error.message);

const Reload = () => <Button onClick={() => location.reload()}>Reload</Button>;

/** A page that could not be fetched while the server was away comes with it. */
function MissingCode() {
  const state = useLiveState();
  const away = useRef(false);
  useEffect(() => {
    if (state === "lost") away.current = true;
    else if (state === "open" && away.current) location.reload();
  }, [state]);
  return state === "lost" ? (
    <EmptyState title="This page is not here yet" action={<Reload />}>
      It comes as soon as Mooring can be reached again.
    </EmptyState>
  ) : (
    <EmptyState title="Mooring was updated" action={<Reload />}>
      This tab is of the version before. Reload it to go on; nothing you have sent or typed is lost.
    </EmptyState>
  );
}
