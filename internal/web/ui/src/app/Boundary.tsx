import { Component, type ReactNode } from "react";
import { Button, EmptyState } from "@/ui";

/** Keeps the shell alive when a page breaks, or when its code cannot be fetched. */
export class Boundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override componentDidCatch(error: unknown) {
    console.error(error);
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <EmptyState title="This page broke" action={<Button onClick={() => location.reload()}>Reload</Button>}>
        Nothing you have sent is lost. If Mooring was just updated, reloading is all it needs.
      </EmptyState>
    );
  }
}
