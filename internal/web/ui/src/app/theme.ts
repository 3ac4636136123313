import { useSyncExternalStore } from "react";

/** What the reader chose; `system` follows the device. */
export type Theme = "system" | "light" | "dark";

const key = "mooring.theme"; // public/theme.js reads it too
const listeners = new Set<() => void>();

function read(): Theme {
  const theme = document.documentElement.dataset["theme"];
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function setTheme(theme: Theme) {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, theme);
  } catch {
    // Storage is off: the choice holds until the page is left.
  }
  listeners.forEach((tell) => tell());
}

function subscribe(tell: () => void) {
  const media = matchMedia("(prefers-color-scheme: dark)");
  listeners.add(tell);
  media.addEventListener("change", tell);
  return () => {
    listeners.delete(tell);
    media.removeEventListener("change", tell);
  };
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, read);
}

/** The theme that is seen, for what cannot use CSS: a chart on a canvas draws again when it changes. */
export function useShownTheme(): "light" | "dark" {
  return useSyncExternalStore(subscribe, () => {
    const theme = read();
    if (theme !== "system") return theme;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  });
}

/** A design token as a colour that a canvas understands: themeColor("accent"). */
export function themeColor(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--c-${token})`;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}
