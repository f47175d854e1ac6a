// The memory and threads of a library in a separate process: `node --expose-gc --no-node-snapshot bench/footprint.mjs <library> idle|cycles`
// prints, as JSON, those of idle isolates, or those that remain after many life cycles.

import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { load } from './libraries.mjs';
import lifecycles from './lifecycles.mjs';

const IDLE = 100;
const MANY_IDLE = 1_000;
const CYCLES = 200;
/** The time after the last call. */
const QUIET_MS = 2_000;
/** Only Linux reports threads. */
const TASKS = '/proc/self/task';

const [library, part] = process.argv.slice(2);

const settle = async () => {
  globalThis.gc();
  await sleep(100);
  globalThis.gc();
};
const resident = () => process.memoryUsage.rss();
const threads = () => (existsSync(TASKS) ? readdirSync(TASKS).length : undefined);

const threadsBefore = threads();
const start = performance.now();
const ivm = await load(library);
const requireMs = performance.now() - start;

async function idle() {
  const isolates = [];
  const makeIdle = (count) => {
    while (isolates.length < count) {
      const isolate = new ivm.Isolate();
      isolates.push([isolate, isolate.createContextSync()]);
    }
  };
  // Threads that asynchronous work starts count, too.
  await lifecycles.find(({ id }) => id === 'life-cycle').prepare(ivm).run();
  makeIdle(5);
  await settle();
  const before = resident();
  makeIdle(IDLE + 5);
  await settle();
  const perIsolate = (resident() - before) / IDLE;
  makeIdle(MANY_IDLE);
  await sleep(QUIET_MS);
  const now = threads();
  return { requireMs, perIsolate, ...(now !== undefined && { threads: now - threadsBefore }) };
}

/** The growth of resident memory from the first to the last of a kind. */
async function cycles() {
  const grown = {};
  for (const { id, prepare, pauseMs = 0 } of lifecycles) {
    const { run, end } = prepare(ivm);
    for (let i = 0; i < 5; i += 1) await run();
    await settle();
    const before = resident();
    for (let i = 0; i < CYCLES; i += 1) {
      await run();
      if (pauseMs > 0) await sleep(pauseMs);
    }
    await settle();
    grown[id] = resident() - before;
    end();
  }
  return { grown };
}

console.log(JSON.stringify(await (part === 'idle' ? idle() : cycles())));
// The rest of a thousand isolates is not measured.
process.exit(0);
