// This package beside other ways to run code apart: a table for hosts that isolated-vm does not run on, too.
// `bench/others.mjs <host>` prints JSON: for each task and way, the median of the milliseconds that one call takes.

import vm from 'node:vm';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { load, loadQuickJs, OURS } from './libraries.mjs';

const ROUNDS = 15;
const SAMPLE_MS = 20;
const WARM_UPS = 3;
const SETTLE_MS = 2;
const PAUSE_MS = 5;
const PAUSED = `the same, ${PAUSE_MS} ms apart`;
const FIB = 'const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); fib(20)';
const FIB_RESULT = 6_765;
const CALLBACKS = 100;
const LOOP = `{ let sum = 0; for (let i = 0; i < ${CALLBACKS}; i += 1) sum += callback(); sum }`;
const SERVICE = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', (code) => parentPort.postMessage((0, eval)(code)));`;

const ivm = load(OURS);
const quickjs = await loadQuickJs();

/** A worker, and its answer to code. */
function startWorker() {
  const worker = new Worker(SERVICE, { eval: true });
  return {
    run: (code) => new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
      worker.postMessage(code);
    }),
    end: () => worker.terminate(),
  };
}

/** Ways by name: how each makes a place for code, and what it does there. */
const ways = {
  [OURS]() {
    const isolate = new ivm.Isolate();
    const context = isolate.createContextSync();
    return {
      run: (code) => context.evalSync(code),
      provide: (callback) => context.global.setSync('callback', new ivm.Callback(callback)),
      end: () => isolate.dispose(),
    };
  },
  'quickjs-emscripten'() {
    const context = quickjs.newContext();
    return {
      run(code) {
        const handle = context.unwrapResult(context.evalCode(code));
        const value = context.dump(handle);
        handle.dispose();
        return value;
      },
      provide(callback) {
        const handle = context.newFunction('callback', () => context.newNumber(callback()));
        context.setProp(context.global, 'callback', handle);
        handle.dispose();
      },
      end: () => context.dispose(),
    };
  },
  'node:vm'() {
    const context = vm.createContext({});
    return {
      run: (code) => vm.runInContext(code, context),
      provide(callback) { context.callback = callback; },
      end() {},
    };
  },
  worker_threads: startWorker,
};

const once = (make) => async () => {
  const place = make();
  const result = await place.run('1 + 1');
  await place.end();
  return result === 2;
};

const tasks = {
  'make a place, run `1 + 1`, end it, back to back': once,
  [PAUSED]: once,
  'run `1 + 1`': (make) => {
    const place = make();
    return { run: async () => (await place.run('1 + 1')) === 2, end: place.end };
  },
  'run `fib(20)`': (make) => {
    const place = make();
    return { run: async () => (await place.run(`{ ${FIB} }`)) === FIB_RESULT, end: place.end };
  },
  [`run a loop with ${CALLBACKS} calls of the host`]: (make) => {
    const place = make();
    if (place.provide === undefined) return undefined;
    place.provide(() => 1);
    return { run: async () => (await place.run(LOOP)) === CALLBACKS, end: place.end };
  },
};

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Pauses do not count. */
async function sample(run, times, pauseMs = 0) {
  let wall = 0;
  for (let i = 0; i < times; i += 1) {
    const start = performance.now();
    if (!(await run())) throw new Error('a wrong result');
    wall += performance.now() - start;
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return wall;
}

async function measure(task, pauseMs) {
  const subjects = [];
  for (const [name, make] of Object.entries(ways)) {
    const made = task(make);
    if (made === undefined) continue;
    const { run, end } = typeof made === 'function' ? { run: made, end() {} } : made;
    let times = 1;
    while (await sample(run, times, pauseMs) < SAMPLE_MS / 2) times *= 2;
    // Until it is as fast as it becomes.
    for (let i = 0; i < WARM_UPS; i += 1) await sample(run, times, pauseMs);
    subjects.push({ name, run, end, times, samples: [] });
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { run, times, samples } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      await sleep(SETTLE_MS);
      samples.push((await sample(run, times, pauseMs)) / times);
    }
  }
  for (const { end } of subjects) await end();
  return Object.fromEntries(subjects.map(({ name, samples }) => [name, median(samples)]));
}

const rows = {};
for (const [title, task] of Object.entries(tasks)) rows[title] = await measure(task, title === PAUSED ? PAUSE_MS : 0);
console.log(JSON.stringify(rows));
process.exit(0);
