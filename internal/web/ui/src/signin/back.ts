/** Where to go after signing in: a path of this server, whatever the address asks for. */
export function safeBack(asked: string | null, origin: string): string {
  if (!asked?.startsWith("/")) return "/";
  try {
    const url = new URL(asked, origin);
    // "//elsewhere" and "/\elsewhere" are other hosts to a browser.
    if (url.origin !== origin || url.pathname.startsWith("//") || url.pathname === "/sign-in") return "/";
    return url.pathname + url.search + url.hash;
  } catch {
    return "/";
  }
}
