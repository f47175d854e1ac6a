// The parts of the benchmark whose subjects have processes of their own. Each resolves with whether all of it worked.

import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { capture, root } from '../scripts/process.mjs';
import { lineChart } from './chart.mjs';
import { makeBundles } from './bundles.mjs';
import { fetchRuntime } from './expressions.mjs';
import lifecycles from './lifecycles.mjs';
import { flagsOf, OURS, PEER, peerOf, QUICKJS } from './libraries.mjs';
import { measurePackages } from './packages.mjs';
import programList from './programs.mjs';
import { publish, tableOf, time } from './report.mjs';
import { hosts } from '../scripts/setup/hosts.mjs';

const LIMIT_MS = 300_000;
const LONG_LIMIT_MS = 1_200_000;
/** The host whose times are the measure for hosts without isolated-vm, and how many times as long these may take. */
const BASE = 'node24';
const BASE_TARGET = '1.5';
/** Each isolate takes eight mappings of memory, of which Linux gives a process 65,530 (`vm.max_map_count`). */
const COUNTS = [1, 10, 100, 1_000, 7_500, 10_000];
/** Small numbers take little time, so several processes measure them, and the medians count. */
const SMALL = 100;
const REPEATS = 5;
const MEGABYTE = 1_048_576;

const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const megabytes = (bytes) => `${(bytes / MEGABYTE).toFixed(2)} MB`;

/** The JSON that a program of the benchmark prints, or the reason why there is none. `prefix` is a command that runs another one. */
async function ask(host, file, args, limit = LIMIT_MS, prefix = []) {
  const [command, ...rest] = [...prefix, host.executable, ...host.program(flagsOf(host.name), join('bench', file)), ...args];
  const { code, signal, output, late } = await capture(command, rest, { limit });
  if (code === 0) return JSON.parse(output.trim().split('\n').at(-1));
  const ended = `ended with ${signal ?? `exit code ${code}`}`;
  return { error: late ? 'not done in time' : (/^(?:error|\w*Error): (.*)$/m.exec(output)?.[1] ?? ended), output };
}

const isOk = (result) => {
  if (result.error !== undefined) console.log(result.output);
  return result.error === undefined;
};

export async function footprint(host) {
  const both = [];
  const libraries = [OURS, peerOf(host.name)];
  for (const library of libraries) {
    const [idle, cycles] = [await ask(host, 'footprint.mjs', [library, 'idle']), await ask(host, 'footprint.mjs', [library, 'cycles'])];
    if (![idle, cycles].every(isOk)) return false;
    both.push({ ...idle, ...cycles });
  }
  const [ours, peer] = both;
  const cells = (title, of, show, target) => [title, show(of(ours)), show(of(peer)), (of(ours) / of(peer)).toFixed(2), target];
  const rows = [
    cells('`require`', ({ requireMs }) => requireMs, time, '20 ms'),
    cells('resident memory of an idle isolate with a context', ({ perIsolate }) => perIsolate, megabytes, libraries[1] === PEER ? '0.8' : ''),
    ...(ours.threads === undefined ? [] : [cells('threads, with 1,000 idle isolates', (result) => result.threads, String, `${availableParallelism() + 4}`)]),
    ...lifecycles.map(({ id, title }) => [
      `${title}: more resident after 200`, megabytes(ours.grown[id]), megabytes(peer.grown[id]), '', '',
    ]),
  ];
  const table = tableOf(`Each library in a process of its own, on ${host.name}:`, ['', ...libraries, 'ratio', 'target'], rows);
  console.log(table);
  publish(`footprint-${host.name}`, { [libraries[0]]: ours, [libraries[1]]: peer }, table);
  return true;
}

const MEASURES = [
  { key: 'perSecond', title: 'Isolates with a context made in a second', y: 'isolates / s', show: (value) => String(Math.round(value)), scale: (value) => value },
  { key: 'bytesEach', title: 'Resident memory of each', y: 'MB', show: megabytes, scale: (value) => value / MEGABYTE },
  { key: 'evalSyncMs', title: "evalSync('1+1') of one after the other", y: 'µs', show: time, scale: (value) => value * 1_000 },
  { key: 'evalMs', title: "eval('1+1') of one after the other", y: 'µs', show: time, scale: (value) => value * 1_000 },
];

export async function scale(host) {
  const libraries = [OURS, peerOf(host.name)];
  const results = Object.fromEntries(libraries.map((library) => [library, {}]));
  for (const count of COUNTS) {
    for (const library of libraries) {
      const runs = [];
      for (let i = 0; i < (count <= SMALL ? REPEATS : 1); i += 1) runs.push(await ask(host, 'scale.mjs', [library, count]));
      const failed = runs.find(({ error }) => error !== undefined);
      results[library][count] = failed ?? Object.fromEntries(MEASURES.map(({ key }) => [key, middle(runs.map((run) => run[key]))]));
      console.log(`${library}, ${count}: ${JSON.stringify(results[library][count])}`);
    }
  }
  // The last count shows how it ends.
  if (!COUNTS.slice(0, -1).every((count) => isOk(results[OURS][count]))) return false;
  const cell = (library, count, { key, show }) => results[library][count].error ?? show(results[library][count][key]);
  const rows = COUNTS.map((count) => [
    count.toLocaleString('en'),
    ...MEASURES.flatMap((measure) => libraries.map((library) => cell(library, count, measure))),
  ]);
  const head = ['isolates', ...MEASURES.flatMap(({ title }) => [`${title}: ${OURS}`, libraries[1]])];
  const folder = `docs/charts/${host.name}`;
  mkdirSync(join(root, folder), { recursive: true });
  const charts = MEASURES.map(({ key, title, y, scale: scaled }) => {
    const points = (library) => COUNTS.filter((count) => results[library][count].error === undefined)
      .map((count) => [count, scaled(results[library][count][key])])
      .filter(([, value]) => value > 0);
    const series = Object.fromEntries(libraries.map((library) => [library, points(library)]));
    writeFileSync(join(root, folder, `${key}.svg`), lineChart({ title, y, x: 'isolates', series }));
    return `![${title}](../charts/${host.name}/${key}.svg)`;
  });
  const of = (library) => Object.fromEntries(COUNTS.map((count) => {
    const { output, ...rest } = results[library][count];
    return [count, rest];
  }));
  publish(`scale-${host.name}`, Object.fromEntries(libraries.map((library) => [library, of(library)])), `${tableOf(`Many isolates at a time, on ${host.name}:`, head, rows)}\n\n${charts.join('\n')}`);
  return true;
}

export async function others(host) {
  const results = await ask(host, 'others.mjs', []);
  if (!isOk(results)) return false;
  const ways = [OURS, QUICKJS, 'node:vm', 'worker_threads'];
  const rows = Object.entries(results).map(([title, times]) => [title, ...ways.map((way) => (times[way] === undefined ? '' : time(times[way])))]);
  const title = `Beside other ways to run code apart, on ${host.name}. A place is an isolate and a context here, of which one waits ready, a runtime and a context in quickjs-emscripten, a context in node:vm, and a worker:`;
  const table = tableOf(title, ['', ...ways], rows);
  console.log(table);
  publish(`others-${host.name}`, results, table);
  return true;
}

export async function subprocess(host) {
  const results = await ask(host, 'subprocess.mjs', []);
  if (!isOk(results)) return false;
  const rows = Object.entries(results).map(([title, { median, within90, fastest, cpu }]) => [title, ...[median, within90, fastest, cpu].map(time)]);
  const head = ['', 'median', '90 % within', 'fastest', 'processor time inside'];
  const table = tableOf(`One execution of \`SubprocessSandbox\` after a pause of 5 ms, on ${host.name}:`, head, rows);
  console.log(table);
  publish(`subprocess-${host.name}`, results, table);
  return true;
}

/** Values of every shape: beside isolated-vm in one process, or beside this package on Node 24 where isolated-vm does not run. */
export async function shapes(host, { filter, quick }) {
  const hasPeer = peerOf(host.name) === PEER;
  const args = [JSON.stringify({ libraries: hasPeer ? [OURS, PEER] : [OURS], filter, quick })];
  const results = await ask(host, 'shapes-run.mjs', args, LONG_LIMIT_MS);
  if (!isOk(results)) return false;
  const base = hasPeer ? undefined : await ask(hosts.find(({ name }) => name === BASE), 'shapes-run.mjs', args, LONG_LIMIT_MS);
  if (base !== undefined && !isOk(base)) return false;
  const measured = results.map(({ id, title, target, times }) => {
    const ours = times[OURS].median;
    const theirs = hasPeer ? times[PEER]?.median : base.find((each) => each.id === id).times[OURS].median;
    return { id, title, ours, theirs, ratio: hasPeer ? times[PEER]?.ratio : ours / theirs, target: hasPeer ? target : BASE_TARGET };
  });
  const rows = measured.map(({ title, ours, theirs, ratio, target }) => [title, time(ours), theirs === undefined ? 'refuses' : time(theirs), ratio?.toFixed(2) ?? '', target]);
  rows.push(['median', '', '', middle(measured.map(({ ratio }) => ratio).filter((ratio) => ratio !== undefined)).toFixed(2), hasPeer ? '0.8' : '']);
  const table = tableOf(`Values of many shapes, on ${host.name}:`, ['one call with', OURS, hasPeer ? PEER : `${OURS} on ${BASE}`, 'ratio', 'target'], rows);
  console.log(table);
  if (!quick && filter === undefined) publish(`values-${host.name}`, measured, table);
  return true;
}

const BUSY = 2;

async function besideBusyProcesses(work) {
  const busy = Array.from({ length: BUSY }, () => spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }));
  try {
    return await work();
  } finally {
    for (const child of busy) child.kill();
  }
}

/** How much of the machine sync calls have. `taskset` limits a process to one processor. */
const SETTINGS = [
  { id: 'free', title: 'free processors', around: (work) => work() },
  { id: 'pinned', title: 'pinned to one processor', prefix: ['taskset', '--cpu-list', '0'], around: (work) => work() },
  { id: 'busy', title: `beside ${BUSY} busy processes`, around: besideBusyProcesses },
];

/** Times of ours and of the peer, each with a median and processor time, and the ratios. */
function versus(ours, theirs) {
  const ratio = theirs.ratio ?? ours.median / theirs.median;
  return { ours, theirs, ratio, cpuRatio: theirs.cpuRatio ?? ours.cpu / theirs.cpu };
}

/** Sync calls on threads of callers and on threads of ours: beside isolated-vm in one process, or beside this package on Node 24. */
export async function sync(host, { filter, quick }) {
  const hasPeer = peerOf(host.name) === PEER;
  const base = hosts.find(({ name }) => name === BASE);
  await fetchRuntime();
  const results = {};
  const tables = [];
  for (const { id: setting, title: settingTitle, prefix, around } of SETTINGS) {
    results[setting] = {};
    for (const syncCalls of ['caller', 'thread']) {
      const args = [JSON.stringify({ libraries: hasPeer ? [OURS, PEER] : [OURS], syncCalls, filter, quick })];
      const answers = await around(async () => {
        const ours = await ask(host, 'sync-run.mjs', args, LONG_LIMIT_MS, prefix);
        return hasPeer ? [ours, ours] : [ours, await ask(base, 'sync-run.mjs', args, LONG_LIMIT_MS, prefix)];
      });
      if (!answers.every(isOk)) return false;
      const [ours, theirs] = answers;
      const peer = hasPeer ? PEER : OURS;
      results[setting][syncCalls] = ours.map(({ id, title, target, times }, index) => ({
        id, title, target: hasPeer ? target : BASE_TARGET, ...versus(times[OURS], theirs[index].times[peer]),
      }));
    }
    const { caller, thread } = results[setting];
    const cells = ({ ours, theirs, ratio, cpuRatio }) => [time(ours.median), time(theirs.median), ratio.toFixed(2), cpuRatio.toFixed(2)];
    const rows = caller.map((each, index) => [each.title, ...cells(each), each.target, ...cells(thread[index])]);
    const peer = hasPeer ? PEER : `on ${BASE}`;
    const head = ['one call of', "`'caller'`", peer, 'ratio', 'CPU ratio', 'target', "`'thread'`", peer, 'ratio', 'CPU ratio'];
    tables.push(tableOf(`Sync calls, on ${host.name}, ${settingTitle}:`, head, rows));
    console.log(`${tables.at(-1)}\n`);
  }
  if (!quick && filter === undefined) publish(`sync-${host.name}`, results, tables.join('\n\n'));
  return true;
}

/** Rounds of each program. */
const ROUNDS = 9;
const QUICK_ROUNDS = 3;
const PROGRAM_TARGETS = ['1.1', '0.7'];

/** Programs as guests run them: beside isolated-vm, each program in a process of its own. */
export async function programs(host, { filter = '', quick }) {
  if (peerOf(host.name) !== PEER) {
    console.log(`${PEER} does not run on ${host.name}, so there is nothing to compare programs with`);
    return true;
  }
  const chosen = programList.filter(({ id, title }) => id.includes(filter) || title.includes(filter));
  await makeBundles(chosen);
  const results = [];
  for (const { id, title } of chosen) {
    const options = { libraries: [OURS, PEER], ids: [id], rounds: quick ? QUICK_ROUNDS : ROUNDS };
    const times = await ask(host, 'programs-run.mjs', [JSON.stringify(options)], LONG_LIMIT_MS);
    if (!isOk(times)) return false;
    results.push({ id, title, times: times[id] });
    console.log(`${title}: ${JSON.stringify(times[id])}`);
  }
  const cells = ({ [OURS]: ours, [PEER]: peer, again }) => [
    ...[ours.median, peer.median].map(time), peer.ratio.toFixed(2), ...[ours.cpu, peer.cpu].map(time), peer.cpuRatio.toFixed(2), PROGRAM_TARGETS[0],
    ...again.map(({ cpuRatio }) => cpuRatio.toFixed(2)), PROGRAM_TARGETS[1],
  ];
  const rows = results.map(({ title, times }) => [title, ...cells(times)]);
  const all = (of) => middle(results.map(({ times }) => of(times))).toFixed(2);
  rows.push(['median', '', '', all((times) => times[PEER].ratio), '', '', all((times) => times[PEER].cpuRatio), '0.9', ...[0, 1].map((run) => all(({ again }) => again[run].cpuRatio)), '0.7']);
  const head = ['a program', OURS, PEER, 'ratio', `CPU: ${OURS}`, PEER, 'CPU ratio', 'target', 'second run', 'third run', 'target'];
  const table = tableOf(`Programs from npm, each in a new isolate, on ${host.name}. A second and a third run have the same source, each in another new isolate; their processor time is relative to the first run's:`, head, rows);
  console.log(table);
  if (!quick && filter === '') publish(`programs-${host.name}`, results, table);
  return true;
}

/** The memory of a process of a sandbox. */
export async function processMemory(host) {
  const results = await ask(host, 'process-memory.mjs', []);
  if (!isOk(results)) return false;
  const table = tableOf(`Memory of a waiting process of \`SubprocessSandbox\`, on ${host.name}:`, ['', 'memory'], [
    ['resident', megabytes(results.resident)],
    ['of that, shared with no file', megabytes(results.own)],
  ]);
  console.log(table);
  publish(`process-memory-${host.name}`, results, table);
  return true;
}

/** Sizes of packages, which are the same for all hosts. */
export async function packages() {
  const results = await measurePackages();
  const rows = Object.entries(results).map(([name, each]) => [name, megabytes(each.download), megabytes(each.installed), String(each.packages)]);
  const table = tableOf('What npm downloads and unpacks on x64 Linux, with dependencies:', ['', 'download', 'unpacked', 'packages'], rows);
  console.log(table);
  publish('packages', results, table);
  return true;
}
