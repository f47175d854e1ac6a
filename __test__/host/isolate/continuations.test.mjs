// What a guest does after the call that made it do so: under that call's limits, and never at the host's expense.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const DEADLINE = "{ name: 'Error', code: 'ERR_ISOLATE_DEADLINE' }";

describe('what a call brings about later is limited as the call was', () => {
  const endless = {
    'an answer of an async callback': "g().then(() => { begun(); for (;;); })",
    'an answer of an applied Reference': "r.apply(undefined, []).then(() => { begun(); for (;;); })",
    'Atomics.waitAsync': "const a = new Int32Array(new SharedArrayBuffer(4)); Atomics.waitAsync(a, 0, 0, 10).value.then(() => { begun(); for (;;); })",
    'a compiled WebAssembly module': "WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(() => { begun(); for (;;); })",
  };
  for (const [what, code] of Object.entries(endless)) {
    test(what, () => passes(`
      context.global.setSync('g', new ivm.Callback(() => 1, { async: true }));
      context.global.setSync('r', new ivm.Reference(() => 1));
      const begun = new Promise((resolve) => { context.global.setSync('begun', new ivm.Callback(() => { resolve(); }, { ignored: true })); });
      context.evalSync(${JSON.stringify(`${code}; 1`)}, { timeout: 100 });
      const alive = setInterval(() => {}, 1000);
      await begun;
      clearInterval(alive);
      // Waits its turn behind the continuation at most.
      assert.equal(context.evalSync('1 + 1'), 2);`));
  }
});

/** Sees to it that the isolate is busy. */
const BUSY = `
  const runsForEver = () => new Promise((resolve) => {
    context.global.setSync('running', new ivm.Callback(() => resolve(), { ignored: true }));
    context.eval('running(); for (;;);').catch(() => {});
  });`;

describe('a deadline counts from the call', () => {
  test('sync, behind a guest without limits', () => passes(`${BUSY}
    await runsForEver();
    const start = ms();
    assert.throws(() => context.evalSync('1', { deadline: 200 }), ${DEADLINE});
    assert.ok(ms() - start < 5_000, String(ms() - start));
    isolate.dispose();`));

  test('async, behind a guest without limits', () => passes(`${BUSY}
    await runsForEver();
    await assert.rejects(context.eval('1', { deadline: 200 }), ${DEADLINE});
    isolate.dispose();`));

  test('and a call that was given up does not run later', () => passes(`
    let ran = 0;
    context.global.setSync('run', () => { ran += 1; });
    const busy = context.eval('for (;;);', { timeout: 400 }).catch(() => {});
    await assert.rejects(context.eval('run()', { deadline: 100 }), ${DEADLINE});
    await busy;
    assert.equal(await context.eval('1'), 1);
    assert.equal(ran, 0);`));

  test('and covers the promise that comes out', () => passes(`
    await assert.rejects(context.eval('new Promise(() => {})', { promise: true, deadline: 100 }), ${DEADLINE});
    await assert.rejects(context.evalSync('new Promise(() => {})', { promise: true, deadline: 100 }), ${DEADLINE});
    assert.equal(await context.eval('Promise.resolve(3)', { promise: true, deadline: 5000 }), 3);`));
});

describe('a guest that waits for an answer lives until it has come', () => {
  test('when nothing of the host refers to it any more', () => passes(`
    const collect = globalThis.gc ?? (() => { globalThis.Bun?.gc(true); });
    let answer;
    const promise = (() => {
      const other = new ivm.Isolate().createContextSync();
      other.global.setSync('r', new ivm.Reference(() => new Promise((resolve) => { answer = resolve; })));
      return other.eval('r.apply(undefined, [], { result: { promise: true } }).then((value) => value + 1)', { promise: true });
    })();
    while (answer === undefined) await sleep(5);
    for (let i = 0; i < 20; i += 1) { collect(); await sleep(5); }
    answer(7);
    assert.equal(await promise, 8);`));

  test('also in a context that was released', () => passes(`
    context.global.setSync('g', new ivm.Callback(() => 5, { async: true }));
    const promise = context.evalSync('g().then((value) => value + 1)', { promise: true });
    context.release();
    assert.equal(await promise, 6);`));
});

describe('what waits for an answer is bounded', () => {
  test('in bytes', () => passes(`
    context.global.setSync('g', new ivm.Callback(() => 1, { async: true }));
    const code = context.evalSync('const s = "x".repeat(1e6); let code; try { for (;;) g(s) } catch (error) { code = error.code } code', { timeout: 10_000 });
    assert.equal(code, 'ERR_ISOLATE_LIMIT');
    otherWorks();`, { options: '{ memoryLimit: 16 }' }));
});
