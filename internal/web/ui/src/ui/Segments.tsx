import { useId, type ReactNode } from "react";

/** One of a few, all in sight: radio buttons that look like one control. */
export function Segments<T extends string>({ label, value, options, onChange }: { label: string; value: T; options: { value: T; label: ReactNode }[]; onChange: (value: T) => void }) {
  const name = useId();
  return (
    <fieldset className="inline-flex h-9 max-w-full pointer-coarse:h-10 rounded-lg border border-line bg-sunken p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className="relative flex cursor-pointer items-center rounded-[0.4rem] border border-transparent px-2.5 text-sm whitespace-nowrap text-soft hover:text-ink has-checked:border-line has-checked:bg-raised has-checked:font-medium has-checked:text-ink has-checked:shadow-low has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChange(option.value)} className="absolute inset-0 cursor-pointer opacity-0" />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
