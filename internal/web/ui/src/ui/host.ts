/**
 * Where what floats above a trigger is put: into the dialog or landmark that the trigger stands in. What is outside of a modal
 * dialog can be neither seen nor reached, and what is outside of all landmarks is missed by whoever goes from one to the next.
 */
export const hostOf = (trigger: HTMLElement | null) => trigger?.closest<HTMLElement>("dialog, [role=dialog], aside, nav, header, main") ?? null;
