/** The product's mark, as in public/mark.svg. */
export const Mark = ({ className }: { className?: string }) => (
  <svg aria-hidden viewBox="0 0 32 32" fill="none" strokeLinecap="round" className={className}>
    <circle cx="16" cy="13" r="9" stroke="#12898e" strokeWidth="4.5" />
    <path d="M3 28c6 0 9-3 11-8s4-8 7-8" stroke="#e2763a" strokeWidth="4" />
  </svg>
);
