// Empties ../dist but for .gitkeep, which keeps the folder in the repository so that `go build` finds something to embed.
import { readdirSync, rmSync } from "node:fs";

const dist = new URL("../../dist/", import.meta.url);
for (const name of readdirSync(dist)) {
  if (name !== ".gitkeep") rmSync(new URL(name, dist), { recursive: true });
}
