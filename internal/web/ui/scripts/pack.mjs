// Puts a brotli and a gzip variant beside each built file, so that the binary compresses nothing while it serves.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import * as zlib from "node:zlib";

const dist = new URL("../../dist/", import.meta.url);
const text = /\.(html|css|js|mjs|json|svg|txt)$/;
const worthwhile = 1024; // a smaller file fits into the first packets anyhow

const brotli = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);

const files = readdirSync(dist, { recursive: true }).filter((name) => text.test(name));
await Promise.all(files.map(pack));

async function pack(name) {
  const content = readFileSync(new URL(name, dist));
  if (content.length < worthwhile) return;
  const variants = {
    br: await brotli(content, { params: { [zlib.constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
    gz: await gzip(content, { level: 9 }),
  };
  for (const [end, packed] of Object.entries(variants)) {
    if (packed.length < content.length) writeFileSync(new URL(`${name}.${end}`, dist), packed);
  }
}
