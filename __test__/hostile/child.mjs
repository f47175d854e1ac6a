// The process that runs hostile programs: `child.mjs <JSON>` with { file, runs, together, kept }. Each run is a way and a program's name;
// `kept` is the number of MB that all of them together may keep. It prints lines of JSON: each start, each outcome, and the remaining memory.

import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { programsOf } from './corpus.mjs';
import { Gaps, forgetPeak, now, peak, resident, watchDelays } from './measure.mjs';
import { executed, thrown, valued } from './outcome.mjs';

/** Collects the host's own garbage. It is hidden below, because guests of a host that exposes its collector have it too. */
const collect = globalThis.gc ?? (() => globalThis.Bun?.gc(true));
globalThis.gc = undefined;
const ivm = createRequire(import.meta.url)('../../index.js');

const MEGABYTE = 2 ** 20;
/** Work that programs leave to the event loop happens soon after them. */
const MIN_REST_MS = 100;
/** After this time the memory of programs is returned, even if other processes use the processors. */
const MAX_REST_MS = 6_000;
const REST_POLL_MS = 50;
/** After this time, a guest that has not stopped is certainly abandoned. */
const MAX_GRACE_MS = 6_000;

const { file, runs, together, kept } = JSON.parse(process.argv[2]);
const tell = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

/** The functions that every program can call. */
const HOST = {
  echo: (...args) => args.length,
  later: async (...args) => args.length,
  fail: () => { throw new RangeError('refused'); },
};
const module = file.includes('/') ? await import(file) : {};
const granted = { ...HOST, ...module.granted };

const call = (program) => (program.script ? program.code : `(${program.code})()`);
/** In a sandbox, code that does not begin with a statement's keyword would be taken for an expression. */
const body = (program) => (program.script ? `if (1) {}\n${program.code}` : program.code);
const limits = ({ timeout, waits, wall }) => ({ [waits || wall ? 'deadline' : 'timeout']: timeout, promise: waits, copy: true });
/** In a sandbox it is awaited; elsewhere it returns a promise. */
const later = new ivm.Callback(HOST.echo, { async: true });

/** Ways to run a program; each returns a description of the outcome. */
const WAYS = {
  async async(program) {
    const isolate = new ivm.Isolate({ memoryLimit: program.memory });
    try {
      const context = await isolate.createContext();
      for (const [name, value] of Object.entries(granted)) await context.global.set(name, name === 'later' ? later : value);
      return valued(await context.eval(call(program), limits(program)));
    } catch (error) {
      return thrown(error);
    } finally {
      if (!isolate.isDisposed) isolate.dispose();
    }
  },
  async sandbox(program) {
    const sandbox = ivm.createSandbox(granted, { timeout: program.timeout, memoryLimit: program.memory });
    return executed(await sandbox.execute(body(program)), program.timeout);
  },
  async sync(program) {
    const isolate = new ivm.Isolate({ memoryLimit: program.memory });
    try {
      const context = isolate.createContextSync();
      for (const [name, value] of Object.entries(granted)) context.global.setSync(name, name === 'later' ? later : value);
      return valued(await context.evalSync(call(program), limits(program)));
    } catch (error) {
      return thrown(error);
    } finally {
      if (!isolate.isDisposed) isolate.dispose();
    }
  },
};

/** Whether a new isolate answers. */
async function answers() {
  const isolate = new ivm.Isolate();
  const sum = await (await isolate.createContext()).eval('1 + 1', { timeout: 20_000 });
  isolate.dispose();
  return sum === 2;
}

const programs = new Map((await programsOf(file)).map((program) => [program.name, program]));
const warm = { name: '', code: '() => 1', timeout: 5_000, memory: 32 };
for (const way of Object.values(WAYS)) await way(warm);
await answers();

const start = resident();
const gaps = new Gaps();

async function run(way, name) {
  tell({ begins: name, way });
  forgetPeak();
  const before = resident();
  const delay = watchDelays();
  gaps.take();
  const since = now();
  const outcome = await WAYS[way](programs.get(name));
  const took = now() - since;
  const delayed = delay();
  const gap = gaps.take();
  const answered = await answers();
  const worst = way === 'sync' ? 0 : Math.max(gap, gaps.take());
  tell({ ended: name, way, outcome, took, delayed, gap: worst, grown: peak() - before, answered });
}

if (together) await Promise.all(runs.map(([way, name]) => run(way, name)));
else for (const [way, name] of runs) await run(way, name);

// A sandbox answers before its guest has stopped or is abandoned.
const until = now() + MAX_GRACE_MS;
while (ivm.engineStats().alive > 0 && now() < until) await sleep(20);
/** What this process has lost permanently, and its total growth, in MB. What guests sent is freed when the host collects it. */
const measure = () => {
  collect();
  return { lost: ivm.engineStats().lostBytes / MEGABYTE, grown: resident() - start };
};

// The event loop is watched while it is idle, but not while the host collects.
forgetPeak();
gaps.take();
const rested = now();
let gap = 0;
let left;
do {
  await sleep(left === undefined ? MIN_REST_MS : REST_POLL_MS);
  gap = Math.max(gap, gaps.take());
  left = measure();
  gaps.take();
} while (left.grown > kept + left.lost && now() - rested < MAX_REST_MS);
tell({ rests: true, gap, ...left, polluted: ({}).polluted !== undefined });
gaps.stop();
