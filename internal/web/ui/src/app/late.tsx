import { lazy, useState, type ComponentType } from "react";

/** A component whose code is fetched apart from the rest. */
export interface Late<P extends object> {
  (props: P): React.ReactNode;
  /** Fetches the code; what waits for it draws the component at once, without a detour over Suspense. */
  load: () => Promise<void>;
}

export function late<P extends object>(fetchCode: () => Promise<{ default: ComponentType<P> }>): Late<P> {
  let there: ComponentType<P> | null = null;
  const fetched = async () => {
    const code = await fetchCode();
    there = code.default;
    return code;
  };
  const Suspended = lazy(fetched);
  const Component: Late<P> = (props) => {
    // The choice stays for as long as this one is shown: another component in its place would begin anew.
    const [Shown] = useState<ComponentType<P>>(() => there ?? Suspended);
    return <Shown {...props} />;
  };
  Component.load = async () => {
    if (!there) await fetched();
  };
  return Component;
}
