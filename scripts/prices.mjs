// Makes internal/price/prices.json of the public data set of model prices that the package below holds: `make prices`.
//
// It takes over what it can say exactly and leaves the rest out, so that such a model has no price rather than a wrong one:
// models of which a part is priced that no usage tells (sound, pictures, requests), and those whose price hangs on the time of
// day. A name counts as a maker's own where the data set gives it to one provider alone.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';

const NAME = '@pydantic/genai-prices';
const VERSION = '0.1.8';
const OUT = new URL('../internal/price/prices.json', import.meta.url);

const KINDS = { input_mtok: 'input', output_mtok: 'output', cache_read_mtok: 'cache_read', cache_write_mtok: 'cache_write_5m', cache_write_1h_mtok: 'cache_write_1h' };
// Fees for tools come on top of what tokens cost; see docs/costs.md.
const TOOLS = new Set(['web_searches_kcount', 'storage_searches_kcount']);

const { source, licence } = fetchPackage();
const published = JSON.parse(npm('view', `${NAME}@${VERSION}`, 'time', '--json'))[VERSION].slice(0, 10);
const all = providersIn(source);
const left = new Map(); // reason -> how many models were left out for it

const providers = all.map(provider).filter((p) => p.models.length > 0);
const text = render(providers);
writeFileSync(OUT, text);
const models = providers.reduce((n, p) => n + p.models.length, 0);
console.log(`${models} models of ${providers.length} providers, ${text.length} bytes; left out: ${[...left].map(([why, n]) => `${n} ${why}`).join(', ')}`);

function npm(...args) {
  return execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function fetchPackage() {
  const dir = mkdtempSync(join(tmpdir(), 'prices-'));
  try {
    const [{ filename }] = JSON.parse(npm('pack', `${NAME}@${VERSION}`, '--json', '--pack-destination', dir));
    execFileSync('tar', ['-xzf', join(dir, filename), '-C', dir]);
    return {
      source: readFileSync(join(dir, 'package/dist/index.js'), 'utf8'),
      licence: readFileSync(join(dir, 'package/LICENSE'), 'utf8').trim(),
    };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

// providersIn reads the first statement of the bundle, which is the data as a literal, in a context of its own.
function providersIn(bundle) {
  const from = bundle.indexOf('[');
  const to = bundle.indexOf('\n], ', from);
  if (!bundle.startsWith('const ') || to < 0) throw new Error('the bundle does not begin with its data any more');
  return runInNewContext(`(${bundle.slice(from, to + 2)})`, {});
}

function provider(p) {
  const names = { is: [], starts: [] };
  if (p.provider_match) collect(p.provider_match, names);
  const models = [];
  for (const m of p.models) {
    const prices = pricesOf(m);
    if (typeof prices === 'string') {
      left.set(prices, (left.get(prices) ?? 0) + 1);
      continue;
    }
    const found = { is: [m.id], starts: [] };
    collect(m.match, found);
    // What the maker's own names are, and those that need the provider before them, are told apart.
    for (const own of [true, false]) {
      const is = distinct(found.is).filter((n) => makes(p, n) === own);
      const starts = distinct(found.starts).filter((n) => makes(p, n) === own);
      if (is.length + starts.length > 0) models.push({ own, is, starts, prices });
    }
  }
  return { id: p.id, also: distinct([...names.is, ...names.starts]).filter((n) => n !== p.id), falls_back: p.fallback_model_providers ?? [], models };
}

// collect flattens a condition into whole names and beginnings. What a name contains or ends with says nothing of its other
// part, so only the name that has no other part counts; of several conditions that must hold together none does.
function collect(match, into) {
  for (const [kind, v] of Object.entries(match)) {
    if (kind === 'or') v.forEach((m) => collect(m, into));
    if (kind === 'equals' || kind === 'ends_with') into.is.push(v);
    if (kind === 'starts_with' || kind === 'contains') into.starts.push(v);
    if (kind === 'regex') collectDated(v, into);
  }
}

// collectDated takes a pattern that is a name with a date behind it.
function collectDated(pattern, into) {
  const dated = /^\^([\w\\./-]+-)(?:\\d\{8\}|\\d\{4\}-\\d\{2\}-\\d\{2\})\$$/.exec(pattern);
  if (dated) into.starts.push(dated[1].replaceAll('\\', ''));
}

// makes says whether the data set gives a name that tells no provider to this one alone.
function makes(p, name) {
  const makers = all.filter((o) => o.model_match && holds(o.model_match, name));
  return makers.length === 1 && makers[0] === p;
}

function holds(match, name) {
  const [kind, v] = Object.entries(match)[0];
  const low = name.toLowerCase();
  switch (kind) {
    case 'or': return v.some((m) => holds(m, name));
    case 'and': return v.every((m) => holds(m, name));
    case 'regex': return new RegExp(v).test(name);
    case 'equals': return low === v.toLowerCase();
    case 'ends_with': return low === v.toLowerCase();
    case 'starts_with': case 'contains': return low.startsWith(v.toLowerCase());
  }
  throw new Error(`a condition of an unknown kind: ${kind}`);
}

function distinct(names) {
  return [...new Set(names.map((n) => n.toLowerCase()))].sort();
}

// pricesOf gives the prices that hold since the data set was published and those it announces, or why there are none.
function pricesOf(m) {
  const kept = [];
  const steps = Array.isArray(m.prices) ? m.prices : [{ prices: m.prices }];
  for (const step of [...steps].reverse()) {
    const c = step.constraint;
    if (c && c.type !== 'start_date') return 'priced by the time of day';
    const price = priceOf(step.prices);
    if (typeof price === 'string') return price;
    const future = c && c.start_date > published;
    kept.unshift(future ? { from: c.start_date, ...price } : price);
    if (!future) return kept;
  }
  return 'without a price yet';
}

function priceOf(prices) {
  const price = {};
  for (const [unit, v] of Object.entries(prices)) {
    if (KINDS[unit]) price[KINDS[unit]] = rate(v);
    else if (!TOOLS.has(unit)) return 'of which a part is priced that no usage tells';
  }
  return price.input === undefined || price.output === undefined ? 'without a price for both input and output' : price;
}

function rate(v) {
  return typeof v === 'number' ? v : { base: v.base, above: [...v.tiers].sort((a, b) => a.start - b.start).map((t) => [t.start, t.price]) };
}

// render writes one line a model, so that a difference between two versions can be read.
function render(list) {
  const line = (m) => '      ' + JSON.stringify({ ...(m.own && { own: true }), ...(m.is.length && { is: m.is }), ...(m.starts.length && { starts: m.starts }), prices: m.prices });
  const block = (p) => {
    const { models: rows, ...head } = { id: p.id, ...(p.also.length && { also: p.also }), ...(p.falls_back.length && { falls_back: p.falls_back }), models: p.models };
    return '    ' + JSON.stringify(head).slice(0, -1) + `, "models": [\n${rows.map(line).join(',\n')}\n    ]}`;
  };
  const head = { name: NAME, version: VERSION, date: published, address: 'https://github.com/pydantic/genai-prices', licence };
  return JSON.stringify(head, null, 2).slice(0, -2) + `,\n  "providers": [\n${list.map(block).join(',\n')}\n  ]\n}\n`;
}
