// Compares this package with other ways to isolate code, also on hosts that isolated-vm does not support.
// `node --expose-gc bench/others.mjs` prints JSON: for each task and way, the median of the milliseconds that one call takes.

import vm from 'node:vm';
import { Worker } from 'node:worker_threads';
import { load, loadQuickJs, OURS } from './libraries.mjs';
import { compare, plans } from './measure.mjs';

const PAUSE_MS = 5;
const FIB = 'const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); fib(20)';
const FIB_RESULT = 6_765;
const CALLBACKS = 100;
const LOOP = `{ let sum = 0; for (let i = 0; i < ${CALLBACKS}; i += 1) sum += callback(); sum }`;
const SERVICE = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', (code) => parentPort.postMessage((0, eval)(code)));`;

const ivm = await load(OURS);
const quickjs = await loadQuickJs();

/** A worker, and its result for code. */
function startWorker() {
  const worker = new Worker(SERVICE, { eval: true });
  let answer;
  worker.on('message', (result) => answer.resolve(result));
  worker.on('error', (error) => answer.reject(error));
  return {
    run(code) {
      answer = Promise.withResolvers();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
      worker.postMessage(code);
      return answer.promise;
    },
    end: () => worker.terminate(),
  };
}

/** Ways to run code, by name: how each creates its environment, and what it runs there. */
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

/** Creates an environment, runs code in it and ends it. Asynchronous only if the library is. */
const once = (make) => () => {
  const place = make();
  const result = place.run('1 + 1');
  if (typeof result === 'number') {
    place.end();
    return result;
  }
  return result.then(async (value) => {
    await place.end();
    return value;
  });
};

const inPlace = (code) => (make) => {
  const place = make();
  return { run: () => place.run(code), end: place.end };
};

const LIFE = 'make a place, run `1 + 1`, end it';

const tasks = [
  { title: `${LIFE}, back to back`, expected: 2, prepare: (make) => ({ run: once(make), end() {} }) },
  { title: `${LIFE}, ${PAUSE_MS} ms apart`, expected: 2, pauseMs: PAUSE_MS, prepare: (make) => ({ run: once(make), end() {} }) },
  { title: 'run `1 + 1`', expected: 2, prepare: inPlace('1 + 1') },
  { title: 'run `fib(20)`', expected: FIB_RESULT, prepare: inPlace(`{ ${FIB} }`) },
  {
    title: `run a loop with ${CALLBACKS} calls of the host`,
    expected: CALLBACKS,
    // A worker can only send messages.
    without: 'worker_threads',
    prepare(make) {
      const place = make();
      place.provide(() => 1);
      return { run: () => place.run(LOOP), end: place.end };
    },
  },
];

const rows = {};
for (const task of tasks) {
  const able = Object.entries(ways).filter(([name]) => name !== task.without);
  const times = await compare(task, new Map(able), plans.full);
  rows[task.title] = Object.fromEntries(able.map(([name]) => [name, times[name].median]));
}
console.log(JSON.stringify(rows));
process.exit(0);
