// Processes and worker threads that use the package end as they would without. The details are in `each-kind/exit` and `each-kind/workers`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../harness.mjs';
import { workers } from '../workers/helper.mjs';

const MAKE = 'const isolate = new ivm.Isolate(); const context = isolate.createContextSync();';
const BUSY = `context.global.setSync('started', new ivm.Callback(() => started(), { ignored: true }));
  let started; const running = new Promise((resolve) => { started = resolve; });
  context.eval('started(); for (;;);').catch(() => {}); await running;`;

/** How a program ends. */
async function ending(code) {
  const { code: exit, signal, timedOut, stdout } = await run(code, { timeout: 60_000 });
  return { exit, signal, timedOut, stdout: stdout.trim() };
}

for (const [what, code, expected] of [
  ['by itself, with its own work done', `${MAKE} console.log(await context.eval('6 * 7'));`, { exit: 0, stdout: '42' }],
  ['with an idle isolate', `${MAKE} context.evalSync('1'); process.exitCode = 3;`, { exit: 3, stdout: '' }],
  ['by process.exit while a guest runs', `${MAKE} ${BUSY} process.exit(7);`, { exit: 7, stdout: '' }],
  ['by an uncaught error while a guest runs', `${MAKE} ${BUSY} throw new Error('of the program');`, { exit: 1, stdout: '' }],
  ['after pending work for a guest', `${MAKE} context.global.setSync('log', (text) => console.log(text)); context.evalIgnored('log("done")');`, { exit: 0, stdout: 'done' }],
]) {
  test(`a process ends ${what}`, async () => assert.deepEqual(await ending(code), { signal: null, timedOut: false, ...expected }));
}

test('a worker ends by itself, and one is terminated while its guest runs', () => workers(`
  same(await exited(work('ends')), 0);
  const worker = await ready('stays');
  await worker.terminate();
  same(make().context.evalSync('6 * 7'), 42);`, `
  const { context } = make();
  if (workerData === 'ends') {
    same(await context.eval('6 * 7'), 42);
  } else {
    context.global.setSync('started', new ivm.Callback(() => tell(), { ignored: true }));
    context.eval('started(); for (;;);').catch(() => {});
    setInterval(() => {}, 1000);
  }`));
