import { fileURLToPath } from "node:url";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { shells } from "./scripts/shells";

// Where `npm run dev` finds the server: MOORING=http://127.0.0.1:5000 npm run dev
const server = process.env["MOORING"] ?? "http://127.0.0.1:4747";
const behind = { target: server, changeOrigin: true };

/** Few files, each as large as what is needed together: over HTTP/1.1 a file costs a turn of its own. */
const groups = [
  { name: "messages", test: /src\/chat\/(Thread|Live|Message|Markdown|Code)\.tsx$/, priority: 1 },
  // What every page needs changes seldom: a browser that has it keeps it over upgrades.
  { name: "react", test: /node_modules\/(react|react-dom|scheduler)\//, priority: 4 },
  { name: "vendor", test: /node_modules\/(wouter|regexparam|use-sync-external-store|lucide-react|@tanstack)\//, priority: 3 },
  { name: "shared", test: /src\/(api\/|app\/|ui\/(?!Tabs|MenuBody)|chat\/(late|chats|removal|groups|runs|memory|outbox|pictures|Asked|Notice)\.|sessions\/(names|list|actions|Price)\.)/, priority: 2 },
];

export default defineConfig({
  base: "/",
  plugins: [react(), tailwind(), shells],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../dist",
    emptyOutDir: false, // .gitkeep stays; the build script clears the rest
    target: "es2023",
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    cssCodeSplit: false,
    assetsInlineLimit: 0, // the policy allows no data: scripts, fonts or style sheets
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups } } },
  },
  server: { proxy: { "/api": behind, "/v1": behind, "/health": behind } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
