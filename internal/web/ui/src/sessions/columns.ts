interface Column {
  name: string;
  className: string;
  hidden?: boolean;
}

const all: Column[] = [
  { name: "Session", className: "min-w-0 pl-6" },
  { name: "Client", className: "max-lg:hidden" },
  { name: "Project", className: "max-xl:hidden" },
  { name: "Upstream", className: "max-lg:hidden" },
  { name: "State", className: "" },
  { name: "Turns", className: "text-right" },
  { name: "Tokens", className: "text-right" },
  { name: "Cost", className: "text-right" },
  { name: "Last activity", className: "text-right whitespace-nowrap" },
  { name: "Actions", className: "", hidden: true },
];

const narrow = "grid items-center gap-x-3 grid-cols-[minmax(0,1fr)_6.5rem_3rem_3.5rem_4.5rem_5.5rem_1.75rem] lg:grid-cols-[minmax(0,1fr)_7rem_6.5rem_6.5rem_3rem_3.5rem_4.5rem_5.5rem_1.75rem]";
const full = {
  columns: all,
  grid: `${narrow} xl:grid-cols-[minmax(0,1fr)_7rem_8rem_6.5rem_6.5rem_3rem_3.5rem_4.5rem_5.5rem_1.75rem]`,
};
const plain = { columns: all.filter((column) => column.name !== "Project"), grid: narrow };

/** The table's columns. Narrower screens leave out those that say least, as does a list without any project; a phone has cards. */
export const columnsOf = (projects: boolean) => (projects ? full : plain);

/** How a column's cells stand. */
export const placeOf = (name: string) => all.find((column) => column.name === name)!.className;
