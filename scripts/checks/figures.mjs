// `node scripts/checks/figures.mjs [--check]`: writes the measured figures of README, SECURITY, BENCHMARKS.md and docs/, and the chart of the
// summary, from BENCHMARKS.json, their only source. Each figure is between `<!-- figure:<name> -->` and `<!-- /figure -->`. With `--check` it writes
// nothing and fails if a figure differs, and if a sentence seems to have a measured time, size or share without such a mark.

import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { ratioChart } from '../../bench/chart.mjs';
import { arranged } from '../../bench/tables.mjs';
import { root } from '../process.mjs';

const OURS = 'isolated-v8';
const IVM = 'isolated-vm';
const QUICKJS = 'quickjs-emscripten';
const HOSTS = ['node24', 'node26', 'bun'];
const WITH_IVM = ['node24', 'node26'];
/** Counts of isolates that every library can make. */
const COUNTS = [10, 100, 1_000];
const MEGABYTE = 1_048_576;
const DIGITS = 2;

const SYNC = ['evalSync', 'script.runSync', 'reference.applySync'];
const ASYNC = ['eval', 'script.run', 'reference.apply'];
const OBJECTS = ['small-object-in', 'small-object-out'];
/** Rows of the part `sync`, in which guests run on the caller's thread. */
const ON_CALLER = {
  'sync': ['evalSync', 'runSync', 'applySync', 'getSync', 'setSync'],
  'callback': ['callback-number', 'callback-string', 'reference-number'],
  'object': ['object-in', 'object-out'],
};
const MEGABYTES = ['string-in', 'string-out', 'buffer-in', 'buffer-out'];
const SANDBOX = ['createSandbox', 'createSandbox-paused'];
const COLD = ['life-cycle-sync-cold', 'life-cycle-cold'];
const PLACES = ['make a place, run `1 + 1`, end it, back to back', 'make a place, run `1 + 1`, end it, 5 ms apart'];

/** Rows of the summary's chart, each with a label. */
const CHART = {
  'createSandbox-paused': 'createSandbox, an execution after a pause',
  'createSandbox': 'createSandbox, executions back to back',
  'life-cycle-sync': 'isolates, back to back',
  'script.run': 'an asynchronous call',
  'script.runSync': 'a synchronous call',
  'callback-async-run': 'a host function, asynchronous call',
  'callback-sync-run': 'a host function, synchronous call',
  'small-object-in': 'a small object in',
  'string-in': 'a string of 1 MB in',
  'buffer-out': 'a buffer of 1 MB out',
  'kernel-JSON.parse': 'guest code: JSON.parse',
  'kernel-typed-arrays': 'guest code: typed arrays',
  'kernel-classes': 'guest code: classes',
};
const CHART_FILE = 'docs/charts/summary.svg';

const short = (value) => Number(value.toPrecision(DIGITS));
const span = (values, show) => {
  const [least, most] = [show(Math.min(...values)), show(Math.max(...values))];
  return least === most ? least : `${least} to ${most}`;
};

/** Milliseconds as text, in one unit. */
function time(values) {
  const inMicroseconds = Math.max(...values) < 1;
  const text = span(values.map((ms) => (inMicroseconds ? ms * 1_000 : ms)), (value) => String(short(value)));
  return `${text} ${inMicroseconds ? 'µs' : 'ms'}`;
}

const ratio = (values) => span(values, (value) => (value < 10 ? value.toFixed(value < 1 ? 2 : 1) : value.toFixed(0)));
const size = (values) => `${span(values.map((bytes) => bytes / MEGABYTE), (value) => String(short(value)))} MB`;

/** Reads values from the data of BENCHMARKS.json. A missing value is an error. */
function readerOf(data) {
  const part = (name) => data[name] ?? fail(`BENCHMARKS.json has no part '${name}'`);
  const row = (host, id) => part(host).rows.find((each) => each.id === id);
  const rows = (hosts, ids) => {
    const found = hosts.flatMap((host) => ids.map((id) => row(host, id))).filter(Boolean);
    return found.length > 0 ? found : fail(`BENCHMARKS.json has no rows ${ids.join(', ')}`);
  };
  const medians = (ids, hosts = HOSTS, library = OURS) => rows(hosts, ids).map(({ times }) => times[library].median);
  const ratios = (ids, hosts = WITH_IVM, library = IVM, key = 'ratio') => rows(hosts, ids).map(({ times }) => times[library][key]);
  const kernels = part(HOSTS[0]).rows.map(({ id }) => id).filter((id) => id.startsWith('kernel-'));
  const footprint = (key, hosts = HOSTS, library = OURS) => hosts.map((host) => part(`footprint-${host}`)[library][key]);
  const footprintRatios = (key) => WITH_IVM.map((host) => part(`footprint-${host}`)[OURS][key] / part(`footprint-${host}`)[IVM][key]);
  const scale = (host, library, key) => COUNTS.map((count) => part(`scale-${host}`)[library][count][key]);
  const turns = WITH_IVM.flatMap((host) => scale(host, OURS, 'evalSyncMs').map((ms, i) => ms / scale(host, IVM, 'evalSyncMs')[i]));
  const onCaller = (ids) => WITH_IVM.flatMap((host) => part(`sync-${host}`).free.caller.filter(({ id }) => ids.includes(id)));
  const valueRatios = (isMeant) => WITH_IVM.flatMap((host) => part(`values-${host}`))
    .filter(({ id, ratio: found }) => found !== undefined && isMeant(id)).map(({ ratio: found }) => found);
  /** Ratios of values of many shapes, but not of large texts and buffers. */
  const shapes = (direction) => valueRatios((id) => id.endsWith(direction) && !id.includes('MB'));
  const largeValues = (direction) => valueRatios((id) => id.endsWith(direction) && id.includes('MB'));
  const programs = (key) => part('programs-node24').map(({ times }) => times[IVM][key]);
  /** From the beginning of `require` to a first result. */
  const firstResults = (key) => WITH_IVM.flatMap((host) => ['evalSync', 'createSandbox'].map((id) => part(`cold-${host}`)[id]))
    .map((times) => times[OURS][key] / times[IVM][key]);
  const processes = (kind) => ['node24', 'bun'].map((host) => part(`subprocess-${host}`)[kind].median);
  const others = (titles, way) => HOSTS.flatMap((host) => titles.map((title) => part(`others-${host}`)[title][way]));
  return { part, row, medians, ratios, kernels, footprint, footprintRatios, scale, shapes, largeValues, programs, firstResults, turns, onCaller, processes, others };
}

/** @returns {never} */
function fail(message) {
  throw new Error(message);
}

/** All figures by name, each as text. */
export function figuresOf(data) {
  const {
    part, medians, ratios, kernels, footprint, footprintRatios, scale, shapes, largeValues, programs, firstResults, turns, onCaller, processes, others,
  } = readerOf(data);
  const beside = (name, ids) => ({ [`${name}-vs-ivm`]: ratio(ratios(ids)), [`${name}-cpu-vs-ivm`]: ratio(ratios(ids, WITH_IVM, IVM, 'cpuRatio')) });
  const besideOnCaller = Object.entries(ON_CALLER).flatMap(([name, ids]) => [
    [`${name}-on-caller-vs-ivm`, ratio(onCaller(ids).map((row) => row.ratio))],
    [`${name}-on-caller-cpu-vs-ivm`, ratio(onCaller(ids).map((row) => row.cpuRatio))],
  ]);
  const packages = part('packages');
  return {
    'isolate': time(medians([...COLD, 'life-cycle-sync-cold-paused', 'life-cycle-cold-paused'])),
    'isolate-prepared': time(medians(['life-cycle-sync-paused', 'life-cycle-paused'])),
    'isolate-memory': size(footprint('perIsolate')),
    'context': time(medians(['createContextSync'])),
    'sync': time(medians(SYNC)),
    'sync-turns': time(HOSTS.flatMap((host) => scale(host, OURS, 'evalSyncMs'))),
    'async': time(medians(ASYNC)),
    'callback-sync': time(medians(['callback-sync-run'])),
    'callback-async': time(medians(['callback-async-run'])),
    'object': time(medians(OBJECTS)),
    'megabyte': time(medians(MEGABYTES)),
    'isolate-memory-of-quickjs': size(footprint('perIsolate', ['bun'], QUICKJS)),
    'sandbox': time(medians(['createSandbox'])),
    'sandbox-paused': time(medians(['createSandbox-paused'])),
    'sandbox-of-ivm': time(medians(['createSandbox'], WITH_IVM, IVM)),
    'sandbox-of-quickjs': time(medians(['createSandbox'], ['bun'], QUICKJS)),
    'process': time(processes('a process that is started for it')),
    'process-waiting': time(processes('one that waits')),
    'process-memory': size([part('process-memory-node24').own]),
    'process-resident': size([part('process-memory-node24').resident]),
    'require': time(footprint('requireMs')),
    'require-of-ivm': time(footprint('requireMs', WITH_IVM, IVM)),
    'worker': time(others(PLACES, 'worker_threads')),
    'size': size([packages[OURS].installed]),
    'size-of-ivm': size([packages[IVM].installed]),
    'size-of-quickjs': size([packages[QUICKJS].installed]),
    'download': size([packages[OURS].download]),
    'download-of-ivm': size([packages[IVM].download]),
    'download-of-quickjs': size([packages[QUICKJS].download]),
    ...beside('sync', SYNC),
    ...Object.fromEntries(besideOnCaller),
    ...beside('async', ASYNC),
    ...beside('callback', ['callback-async-run']),
    ...beside('object', OBJECTS),
    ...beside('nested-in', ['nested-objects-in']),
    ...beside('string-in', ['string-in']),
    ...beside('transfer', ['transfer-1', 'transfer-64']),
    ...beside('context', ['createContextSync']),
    ...beside('cold', COLD),
    ...beside('sandbox', SANDBOX),
    ...beside('guest-code', kernels),
    'turns-vs-ivm': ratio(turns),
    'shapes-in-vs-ivm': ratio(shapes('-in')),
    'shapes-out-vs-ivm': ratio(shapes('-out')),
    'shapes-vs-ivm': ratio([...shapes('-in'), ...shapes('-out')]),
    'large-in-vs-ivm': ratio(largeValues('-in')),
    'large-out-vs-ivm': ratio(largeValues('-out')),
    'programs-vs-ivm': ratio(programs('ratio')),
    'programs-cpu-vs-ivm': ratio(programs('cpuRatio')),
    'first-result-vs-ivm': ratio(firstResults('median')),
    'first-result-cpu-vs-ivm': ratio(firstResults('cpu')),
    'require-vs-ivm': ratio(footprintRatios('requireMs')),
    'memory-vs-ivm': ratio(footprintRatios('perIsolate')),
    'guest-code-vs-quickjs': ratio(ratios(kernels, ['bun'], QUICKJS).map((value) => 1 / value)),
    'guest-code-ratio-to-quickjs': ratio(ratios(kernels, ['bun'], QUICKJS)),
    'sandbox-vs-quickjs': ratio(ratios(SANDBOX, ['bun'], QUICKJS)),
    'sync-vs-quickjs': ratio(ratios(SYNC, ['bun'], QUICKJS)),
    'object-vs-quickjs': ratio(ratios(OBJECTS, ['bun'], QUICKJS)),
    'memory-vs-quickjs': ratio([footprint('perIsolate', ['bun'])[0] / footprint('perIsolate', ['bun'], QUICKJS)[0]]),
    'making-vs-quickjs': ratio(ratios(['life-cycle-sync', 'life-cycle'], ['bun'], QUICKJS)),
    'async-vs-quickjs': ratio(ratios(ASYNC, ['bun'], QUICKJS)),
  };
}

/** The chart of the summary, as SVG. */
export function chartOf(data) {
  const { row } = readerOf(data);
  const bars = Object.entries(CHART).map(([id, label]) => [label, row('node24', id).times[IVM].ratio]);
  return ratioChart({ title: "Time as a ratio to isolated-vm's, Node 24 (below 1: isolated-v8 is faster)", bars });
}

const MARK = /(<!-- figure:([\w-]+) -->)([\s\S]*?)(<!-- \/figure -->)/g;

/** A text with the present figures between its marks. */
export function withFigures(text, figures) {
  return text.replaceAll(MARK, (_, begin, name, _shown, end) => `${begin}${figures[name] ?? fail(`there is no figure '${name}'`)}${end}`);
}

const FENCES = /^```[\s\S]*?^```$/gm;
const CODE = /`[^`\n]*`/g;
/** Words of measurements. A limit, a default or a condition is none. */
const COST = /\b(?:takes?|took|taking|taken|costs?|adds?|slower|faster|longer|spends?|saves?|half|third|quarter|in about|of the time)\b|µs|\bns\b/i;
const AMOUNT = /(?<![\w.,-])\d[\d.,]*(?:\s(?:to|and|or)\s\d[\d.,]*)?\s?(?:ms|µs|ns|MB|GB|KB|times|×|milliseconds|microseconds|nanoseconds)(?!\w)/;
/** Part of a measured time or size. */
const SHARE = /\d\s?%/;
const LIMIT = /\b(?:whichever|if that|including|at most|at least|up to|more than|less than|no more|beyond|exceeds?|limit\w*|budgets?|default|within|longer than|bound\w*|maximum|may|every|each|half)\b/i;
const SENTENCE = /(?<=[.!?:;])\s+|\n\n+|\n(?=\s*(?:[-*]|\d+\.|\|)\s)/;

/** Sentences of a page that seem to have a measured figure without a mark. */
export function unmarkedIn(text) {
  const plain = text.replaceAll(FENCES, '').replaceAll(MARK, '').replaceAll(CODE, '`…`');
  return plain.split(SENTENCE).map((sentence) => sentence.replaceAll(/\s+/g, ' ').trim())
    .filter((sentence) => ((COST.test(sentence) && AMOUNT.test(sentence)) || SHARE.test(sentence)) && !LIMIT.test(sentence));
}

/** `npm run bench` writes this page together with BENCHMARKS.json. */
const TABLES = 'docs/benchmarks/tables.md';

/** The pages with figures. */
const pages = [
  'BENCHMARKS.md', 'README.md', 'SECURITY.md', 'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true }).map((name) => `docs/${String(name).replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md')).toSorted(),
];

function main() {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
  const data = JSON.parse(readFileSync(join(root, 'BENCHMARKS.json'), 'utf8'));
  const figures = figuresOf(data);
  const complaints = [];
  const update = (file, text, current) => {
    if (current === text) return;
    if (values.check) complaints.push(`${file}: differs from BENCHMARKS.json: node scripts/checks/figures.mjs`);
    else writeFileSync(join(root, file), current);
  };
  let count = 0;
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8');
    count += [...text.matchAll(MARK)].length;
    update(page, text, page === TABLES ? arranged(text) : withFigures(text, figures));
    if (page !== TABLES) complaints.push(...unmarkedIn(text).map((sentence) => `${page}: a figure without a mark: ${sentence}`));
  }
  const chart = join(root, CHART_FILE);
  update(CHART_FILE, existsSync(chart) ? readFileSync(chart, 'utf8') : '', chartOf(data));
  console.log(complaints.length === 0 ? `${count} figures in ${pages.length} pages, as in BENCHMARKS.json` : complaints.join('\n'));
  return complaints.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = main();
