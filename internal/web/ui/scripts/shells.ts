// Makes of index.html a shell for each page: the same, but it names what that page will want, so that a browser fetches all of it at once
// and not one behind the other.
import type { Plugin } from "vite";

interface Wants {
  /** The modules that it is drawn with, besides the entry. */
  modules: string[];
  /** What it asks for whatever its address says, as the code asks: api/hooks.ts. Lists are not among them: what happens between such a
   * reading and the first live event would be missed. */
  reads?: string[];
}

/** Of each page. internal/workspace/pages.go says at which paths its shell is served. */
const pages: Record<string, Wants> = {
  chat: { modules: ["chat/Chat"], reads: ["/api/upstreams", "/api/models"] },
  thread: { modules: ["chat/Chat", "chat/Thread"], reads: ["/api/upstreams", "/api/models"] },
  sessions: { modules: ["sessions/Sessions"] },
  session: { modules: ["sessions/Session"] },
  search: { modules: ["search/Search"] },
  upstreams: { modules: ["upstreams/Upstreams", "upstreams/Charts"], reads: ["/api/upstreams"] },
  usage: { modules: ["usage/Usage"], reads: ["/api/stats"] },
  tenants: { modules: ["tenants/Tenants"] },
  "sign-in": { modules: ["signin/SignIn"] },
};

export const shells: Plugin = {
  name: "shells",
  enforce: "post",
  generateBundle(_, bundle) {
    const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
    const index = bundle["index.html"];
    if (index?.type !== "asset") throw new Error("the build has no index.html");
    const html = String(index.source);
    const withImports = (file: string): string[] => [file, ...(chunks.find((one) => one.fileName === file)?.imports ?? []).flatMap(withImports)];
    for (const [name, { modules, reads = [] }] of Object.entries(pages)) {
      const files = modules.flatMap((module) => {
        const chunk = chunks.find((one) => one.moduleIds.some((id) => id.endsWith(`/src/${module}.tsx`)));
        if (!chunk) throw new Error(`no chunk holds ${module}`);
        return withImports(chunk.fileName);
      });
      const links = [
        ...[...new Set(files)].filter((file) => !html.includes(file)).map((file) => `<link rel="modulepreload" crossorigin href="/${file}">`),
        ...["/api/me", ...reads].map((path) => `<link rel="preload" as="fetch" crossorigin href="${path}">`),
      ];
      this.emitFile({ type: "asset", fileName: `${name}.html`, source: html.replace("</head>", `${links.map((link) => `  ${link}\n`).join("")}</head>`) });
    }
  },
};
