// Worker threads are terminated in the middle of all kinds of work, many times: no crash, no hang, the right exit code.

import { test } from 'node:test';
import { workers } from './helper.mjs';

/** What workers are doing; each reports when it has begun. */
const KINDS = [
  // a sync call whose guest calls the host endlessly
  "context.global.setSync('call', () => { tell(); }); context.evalSync('for (;;) try { call() } catch {}');",
  // a callback of a sync call that does not return
  "context.global.setSync('block', () => { tell(); for (;;); }); context.evalSync('block()');",
  // a sync call whose guest does not return
  "context.global.setSync('started', () => { tell(); }); context.evalSync('started(); for (;;);');",
  // an async call whose guest does not return
  "context.global.setSync('started', new ivm.Callback(() => { tell(); }, { ignored: true })); context.eval('started(); for (;;);').catch(() => {}); setInterval(() => {}, 1000);",
  // async calls that follow one another
  "const next = () => context.eval('1').then(next, next); for (let i = 0; i < 10; i += 1) next(); tell();",
  // a guest that waits for a promise of the host
  "context.global.setSync('slow', new ivm.Reference(() => { tell(); return new Promise(() => {}); })); context.eval('slow.applySyncPromise()').catch(() => {}); setInterval(() => {}, 1000);",
  // isolates that are made and disposed
  "tell(); for (;;) { const other = make(); other.context.evalSync('1'); other.context.eval('2').catch(() => {}); other.isolate.dispose(); await null; }",
  // a guest that calls the host without waiting, and one whose promises the host holds
  "context.global.setSync('note', new ivm.Callback(() => { tell(); }, { ignored: true })); context.evalIgnored('for (;;) note()'); setInterval(() => {}, 1000);",
  // a guest at the end of its memory
  "tell(); context.eval('const all = []; for (;;) all.push(new Array(1000).fill(1.5))').catch(() => {}); setInterval(() => {}, 1000);",
  // a sandbox that waits for a function
  "ivm.createSandbox({ wait: () => { tell(); return new Promise(() => {}); } }).execute('wait()'); setInterval(() => {}, 1000);",
  // idle
  "context.evalSync('1'); tell(); setInterval(() => {}, 1000);",
];

const WORK = `
  const { context } = make();
  const kinds = [${KINDS.map((code) => `async () => { ${code} }`).join(',\n')}];
  await kinds[workerData]();`;

/** Terminates `count` workers, eight at a time, each as soon as it has begun its kind of work. */
const terminated = (count) => `
  let started = 0;
  const lane = async () => {
    while (started < ${count}) {
      const worker = await ready((started += 1) % ${KINDS.length});
      await worker.terminate();
    }
  };
  const { isolate, context } = make();
  const lanes = Promise.all(Array.from({ length: 8 }, lane));
  let done = false;
  lanes.then(() => { done = true; });
  let calls = 0;
  context.global.setSync('f', () => { calls += 1; return 1; });
  while (!done) {
    same(context.evalSync('f() + 1'), 2);
    same(await context.eval('f() + 2'), 3);
    await sleep(1);
  }
  await lanes;
  same(make().context.evalSync('6 * 7'), 42);`;

/**
 * The tests.
 * @param {number} many workers that are terminated while the main thread continues
 * @param {number} pending workers that are terminated one after another
 * @param {number} before workers that are terminated before `process.exit`
 * @param {string} first what the main thread does first
 */
export function terminating({ many, pending, before, first = '' }) {
  test(`${many}, while the main thread continues`, () => workers(first + terminated(many), WORK, { limit: 150_000 }));

  test(`${pending} with a pending call, one after the other`, () => workers(`${first}
    for (let i = 0; i < ${pending}; i += 1) await (await ready()).terminate();
    same(make().context.evalSync('6 * 7'), 42);`, `
    const { context } = make();
    context.global.setSync('started', new ivm.Callback(() => { tell(); }, { ignored: true }));
    context.eval('started(); for (;;);').catch(() => {});
    setInterval(() => {}, 1000);`));

  test('then process.exit with a guest running', () => workers(`${first}${terminated(before)}
    context.global.setSync('leave', () => process.exit(9));
    context.evalSync('leave()');`, WORK, { exit: 9 }));

  test('process.exit while they are being terminated', () => workers(`${first}
    const all = await Promise.all(Array.from({ length: ${KINDS.length} }, (_, kind) => ready(kind)));
    for (const worker of all) worker.terminate();
    process.exit(4);`, WORK, { exit: 4 }));
}
