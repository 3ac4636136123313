// Runs the continuity script in a page that is made up, answers what it asks, and writes down what it shows. One row of a table on stdin gives
// one line on stdout.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const source = readFileSync(process.argv[2], "utf8");

function element() {
  return {
    style: {}, attributes: {}, children: [], textContent: "", isConnected: true,
    setAttribute(k, v) { this.attributes[k] = v; },
    removeAttribute(k) { delete this.attributes[k]; },
    append(...c) { this.children.push(...c); },
    addEventListener() {},
  };
}

async function run(row) {
  const asked = [], timers = [], listeners = {};
  const body = element();
  let now = 1e12;
  const on = (name, f) => (listeners[name] ??= []).push(f);
  const location = { pathname: row.path ?? "/session/abc" };
  const answers = [...row.answers];
  const page = {
    location, Date: { now: () => now }, Math, parseInt, encodeURIComponent, Promise, AbortController,
    history: { pushState(_, __, to) { location.pathname = to; }, replaceState() {} },
    localStorage: { getItem: () => row.stored ?? null },
    document: { hidden: false, body, currentScript: { getAttribute: (name) => (name === "data-mooring-page" ? row.mark ?? "mine" : null) }, createElement: element, addEventListener: on },
    setTimeout: (f, ms) => timers.push({ f, ms, at: now + ms }), clearTimeout: (n) => { if (timers[n - 1]) timers[n - 1].f = null; },
    fetch: (url, options) => {
      asked.push({ url, options });
      const a = answers.shift() ?? { status: 200, json: { session: {} } };
      if (a.error) return Promise.reject(new TypeError("no network"));
      if (a.moveTo) location.pathname = a.moveTo;
      return Promise.resolve({
        type: a.type ?? "basic", status: a.status, headers: { get: (k) => ({ "Content-Type": a.contentType ?? "application/json", ...a.headers })[k] ?? null },
        json: () => (a.json === undefined ? Promise.reject(new SyntaxError("x")) : Promise.resolve(a.json)),
      });
    },
  };
  page.window = page;
  page.addEventListener = on;
  const settle = async () => { for (let i = 0; i < 20; i++) await Promise.resolve(); };
  vm.runInNewContext(source, page);
  if (row.twice) vm.runInNewContext(source, page);
  await settle();
  const next = () => timers.filter((t) => t.f && t.ms !== 10000).map((t) => t.ms);
  for (let i = 1; i < (row.polls ?? row.answers.length); i++) {
    const t = timers.filter((x) => x.f && x.ms !== 10000).pop();
    if (!t) break;
    now = t.at;
    const f = t.f;
    t.f = null;
    f();
    await settle();
  }
  const waits = next();
  if (row.focus) {
    listeners.focus.forEach((f) => f());
    await settle();
  }
  const bar = body.children[0];
  const shown = bar && bar.style.display !== "none";
  return {
    asked: asked.map((a) => a.url), accept: asked[0]?.options.headers.Accept, redirect: asked[0]?.options.redirect, cache: asked[0]?.options.cache,
    text: shown ? bar.children[0].children[0].textContent : "", link: shown ? bar.children[0].children[1].attributes.href ?? "" : "", path: location.pathname, wait: Math.round((waits.at(-1) ?? 0) / 1000),
  };
}

for (const row of JSON.parse(readFileSync(0, "utf8"))) console.log(JSON.stringify(await run(row)));
