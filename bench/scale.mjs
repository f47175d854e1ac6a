// Many isolates at the same time in a separate process: `node --expose-gc --no-node-snapshot bench/scale.mjs <library> <isolates>` prints
// as JSON how fast they are created (none in advance), the memory of each, and the duration of a call of one of them.

import { load } from './libraries.mjs';

const CALLS = 2_000;

const [library, isolates] = process.argv.slice(2);
const count = Number(isolates);
const ivm = await load(library);

const resident = () => process.memoryUsage.rss();
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

{
  const first = new ivm.Isolate({ warm: 0 });
  first.createContextSync().evalSync('1+1');
  first.dispose();
}
globalThis.gc();
const before = resident();
const start = performance.now();
const contexts = [];
for (let i = 0; i < count; i += 1) {
  const isolate = new ivm.Isolate({ warm: 0 });
  contexts.push([isolate, isolate.createContextSync()]);
}
const madeIn = performance.now() - start;
const bytes = resident() - before;

/** Calls each in turn, so that no isolate is called twice in a row. */
const latency = async (call) => {
  const times = [];
  for (let i = 0; i < CALLS; i += 1) {
    const [, context] = contexts[i % count];
    const from = performance.now();
    const result = await call(context);
    times.push(performance.now() - from);
    if (result !== 2) throw new Error('a wrong result');
  }
  return median(times);
};
const evalSyncMs = await latency((context) => context.evalSync('1+1'));
const evalMs = await latency((context) => context.eval('1+1'));
console.log(JSON.stringify({ perSecond: (count * 1_000) / madeIn, bytesEach: bytes / count, evalSyncMs, evalMs }));
process.exit(0);
