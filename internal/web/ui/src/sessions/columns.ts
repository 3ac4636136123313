/** The table's columns. Narrower screens leave out those that say least; a phone has cards. */
export const columns = [
  { name: "Session", className: "min-w-0 pl-6" },
  { name: "Client", className: "max-lg:hidden" },
  { name: "Project", className: "max-xl:hidden" },
  { name: "Upstream", className: "max-lg:hidden" },
  { name: "State", className: "" },
  { name: "Turns", className: "text-right" },
  { name: "Tokens", className: "text-right" },
  { name: "Cost", className: "text-right" },
  { name: "Last activity", className: "text-right" },
  { name: "Actions", className: "", hidden: true },
];

export const grid =
  "grid items-center gap-x-4 grid-cols-[minmax(0,1fr)_6.5rem_3rem_4rem_4.5rem_5.5rem_1.75rem] " +
  "lg:grid-cols-[minmax(0,1fr)_7.5rem_7rem_6.5rem_3rem_4rem_4.5rem_5.5rem_1.75rem] " +
  "xl:grid-cols-[minmax(0,1fr)_8rem_8rem_7rem_6.5rem_3rem_4rem_4.5rem_5.5rem_1.75rem]";
