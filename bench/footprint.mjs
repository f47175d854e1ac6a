// What a library takes of a process of its own: `node --expose-gc --no-node-snapshot bench/footprint.mjs <library>` prints it as JSON.

import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { load } from './libraries.mjs';
import lifecycles from './lifecycles.mjs';

const IDLE = 100;
const MANY_IDLE = 1_000;
const CYCLES = 200;
/** After the last call. */
const QUIET_MS = 2_000;

const [library] = process.argv.slice(2);

const settle = async () => {
  globalThis.gc();
  await sleep(100);
  globalThis.gc();
};
const resident = () => process.memoryUsage.rss();
const threads = () => readdirSync('/proc/self/task').length;

const threadsBefore = threads();
const start = performance.now();
const ivm = load(library);
const requireMs = performance.now() - start;

/** Resident memory after many of one kind, less what there was after the first of them. */
const grown = {};
for (const { id, prepare } of lifecycles.filter(({ pauseMs }) => pauseMs === undefined)) {
  const { run, end } = prepare(ivm);
  for (let i = 0; i < 5; i += 1) await run();
  await settle();
  const before = resident();
  for (let i = 0; i < CYCLES; i += 1) await run();
  grown[id] = resident() - before;
  end();
  await settle();
}

const isolates = [];
const makeIdle = (count) => {
  while (isolates.length < count) {
    const isolate = new ivm.Isolate();
    isolates.push([isolate, isolate.createContextSync()]);
  }
};
makeIdle(5);
await settle();
const before = resident();
makeIdle(IDLE + 5);
await settle();
const perIsolate = (resident() - before) / IDLE;

makeIdle(MANY_IDLE);
await sleep(QUIET_MS);
console.log(JSON.stringify({ requireMs, perIsolate, threads: threads() - threadsBefore, grown }));
// The rest of a thousand isolates is nobody's concern.
process.exit(0);
