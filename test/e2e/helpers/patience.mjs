/** How long anything may take on a busy machine, in milliseconds. */
export const patience = 30_000
