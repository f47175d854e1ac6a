// Snapshots that workers make, and what the engine counts when a worker ends.

import { test } from 'node:test';
import { entry } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

test('an endless snapshot script is stopped with its worker', () => passes(`
  const { Worker } = await import('node:worker_threads');
  const code = \`
    const { parentPort } = require('node:worker_threads');
    const ivm = require(${JSON.stringify(entry)});
    parentPort.postMessage('ready');
    ivm.Isolate.createSnapshot([{ code: 'for (;;);' }], undefined, { deadline: 60_000 });\`;
  const worker = new Worker(code, { eval: true });
  await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
  // It runs.
  await waitFor(() => ivm.engineStats().made === 2 && ivm.engineStats().threads > 0);
  const start = ms();
  await worker.terminate();
  assert.ok(ms() - start < 10_000, String(ms() - start));
  otherWorks();`));

test('snapshots are created concurrently', () => passes(`
  const { Worker } = await import('node:worker_threads');
  const code = \`
    const ivm = require(${JSON.stringify(entry)});
    for (let round = 0; round < 15; round++) {
      const snapshot = ivm.Isolate.createSnapshot([{ code: 'var a = ' + round }]);
      const isolate = new ivm.Isolate({ snapshot });
      if (isolate.createContextSync().evalSync('a') !== round) throw new Error(String(round));
      isolate.dispose();
    }\`;
  const ended = Array.from({ length: 3 }, () => new Promise((resolve, reject) => {
    new Worker(code, { eval: true }).on('error', reject).on('exit', resolve);
  }));
  assert.deepEqual(await Promise.all(ended), [0, 0, 0]);`));

test('statistics count isolates that end with their worker', () => passes(`
  const { Worker } = await import('node:worker_threads');
  const code = \`
    const ivm = require(${JSON.stringify(entry)});
    globalThis.kept = [new ivm.Isolate(), new ivm.Isolate()].map((isolate) => isolate.createContextSync());\`;
  const worker = new Worker(code, { eval: true });
  await new Promise((resolve, reject) => { worker.once('exit', resolve); worker.once('error', reject); });
  await waitFor(() => ivm.engineStats().endings.environmentGone === 2);
  const { made, alive, endings } = ivm.engineStats();
  assert.deepEqual({ made, alive, environmentGone: endings.environmentGone }, { made: 3, alive: 1, environmentGone: 2 });
  assert.equal(context.evalSync('1'), 1);`));
