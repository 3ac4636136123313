import { createContext, useContext } from "react";

/** The places of the shell that a page may fill, and the drawer's state. */
export interface Slots {
  drawer: HTMLElement | null;
  bar: HTMLElement | null;
  closeDrawer: () => void;
}

export const SlotsContext = createContext<Slots>({ drawer: null, bar: null, closeDrawer: () => {} });
export const useSlots = () => useContext(SlotsContext);
