import { fileURLToPath } from "node:url";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// Where `npm run dev` finds the server: MOORING=http://127.0.0.1:5000 npm run dev
const server = process.env["MOORING"] ?? "http://127.0.0.1:4747";
const behind = { target: server, changeOrigin: true };

/** Lets the chat's code be fetched beside the entry and not after it: `/` is where most people begin. */
const chatFirst: Plugin = {
  name: "chat-first",
  transformIndexHtml: (_, { bundle }) =>
    Object.values(bundle ?? {})
      .filter((file) => file.type === "chunk" && file.facadeModuleId?.endsWith("/src/chat/Chat.tsx"))
      .map((file) => ({ tag: "link", attrs: { rel: "modulepreload", href: `/${file.fileName}` }, injectTo: "head" as const })),
};

export default defineConfig({
  base: "/",
  plugins: [react(), tailwind(), chatFirst],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../dist",
    emptyOutDir: false, // .gitkeep stays; the build script clears the rest
    target: "es2023",
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    assetsInlineLimit: 0, // the policy allows no data: scripts, fonts or style sheets
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": behind, "/v1": behind, "/health": behind } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
