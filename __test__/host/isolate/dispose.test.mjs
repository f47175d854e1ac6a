// `dispose` at any moment: pending calls are answered, the host keeps working, and later calls report why they fail.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { coded, passes } from '../../isolate/helper.mjs';

const DURING = coded('DISPOSED', 'Isolate was disposed during execution');
const GONE = coded('DISPOSED', 'Isolate is disposed');
const GONE_SYNC = coded('DISPOSED', 'Isolated is disposed');
const AGAIN = coded('DISPOSED', 'Isolate is already disposed');

/** An isolate whose guest can report that it has started. */
function make() {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  let go;
  const started = new Promise((resolve) => { go = resolve; });
  context.global.setSync('started', new ivm.Callback(() => go(), { ignored: true }));
  return { isolate, context, started };
}

describe('dispose', () => {
  test('while idle, and twice', async () => {
    const { isolate, context } = make();
    assert.equal(isolate.isDisposed, false);
    assert.equal(isolate.dispose(), undefined);
    assert.equal(isolate.isDisposed, true);
    assert.throws(() => isolate.dispose(), AGAIN);
    assert.throws(() => isolate.dispose(), AGAIN);
    for (const call of [
      () => context.evalSync('1'), () => context.evalClosureSync('1'), () => isolate.createContextSync(), () => isolate.compileScriptSync('1'),
      () => isolate.getHeapStatisticsSync(), () => context.global.getSync('a'),
    ]) assert.throws(call, GONE_SYNC, String(call));
    for (const call of [
      () => context.eval('1'), () => context.evalClosure('1'), () => isolate.createContext(), () => isolate.compileScript('1'),
      () => isolate.getHeapStatistics(), () => context.global.get('a'),
    ]) await assert.rejects(call(), GONE, String(call));
  });

  test('immediately after creation', async () => {
    const isolate = new ivm.Isolate();
    isolate.dispose();
    assert.throws(() => isolate.createContextSync(), GONE_SYNC);
    const second = new ivm.Isolate();
    const pending = second.createContext();
    second.dispose();
    // As in isolated-vm: programs do not expect that making a context fails.
    const context = await pending;
    assert.ok(context instanceof ivm.Context);
    assert.throws(() => context.evalSync('1'), GONE_SYNC);
    await assert.rejects(context.eval('1'), GONE);
    await assert.rejects(second.createContext(), GONE);
    context.release();
  });

  test('the error messages do not depend on the time since disposal', async () => {
    for (let i = 0; i < 50; i += 1) {
      const { isolate, context } = make();
      isolate.dispose();
      assert.throws(() => context.evalSync('1'), GONE_SYNC, `at once, ${i}`);
      await assert.rejects(context.eval('1'), GONE, `at once, ${i}`);
      await new Promise((resolve) => { setTimeout(resolve, i % 3); });
      assert.throws(() => context.evalSync('1'), GONE_SYNC, `later, ${i}`);
      await assert.rejects(context.eval('1'), GONE, `later, ${i}`);
    }
  });

  for (const [what, code] of [
    ['a loop', 'for (;;);'],
    ['a loop of callbacks', 'for (;;) started()'],
    ['a wait', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'],
    ['a promise loop', '(async () => { for (;;) await 0 })()'],
    ['a regular expression', '/^(a+)+$/.test("a".repeat(40) + "b")'],
  ]) {
    test(`while ${what} runs`, () => passes(`
      let go;
      const started = new Promise((resolve) => { go = resolve; });
      context.global.setSync('started', new ivm.Callback(() => go(), { ignored: true }));
      const pending = errorOf(() => context.eval(${JSON.stringify(`started(); ${code}`)}));
      await started;
      const start = ms();
      isolate.dispose();
      assert.ok(ms() - start < 2_000, 'dispose itself took ' + (ms() - start));
      const error = await pending;
      assert.deepEqual([error.message, error.code], ['Isolate was disposed during execution', 'ERR_ISOLATE_DISPOSED']);
      assert.ok(ms() - start < 5_000, String(ms() - start));
      assert.throws(() => isolate.dispose(), { message: 'Isolate is already disposed' });
      otherWorks();`));
  }

  test('from inside its own callback', async () => {
    const { isolate, context } = make();
    let after = 0;
    context.global.setSync('end', () => isolate.dispose());
    context.global.setSync('after', () => { after += 1; });
    assert.throws(() => context.evalSync('try { end() } catch { after() } finally { after() } after()'), DURING);
    assert.equal(isolate.isDisposed, true);
    assert.equal(after, 0);
    const second = make();
    second.context.global.setSync('end', () => second.isolate.dispose());
    second.context.global.setSync('after', () => { after += 1; });
    await assert.rejects(second.context.eval('try { end() } finally { after() } after()'), DURING);
    assert.equal(after, 0);
  });

  test('from inside a callback of a callback', () => {
    const { isolate, context } = make();
    let inner;
    context.global.setSync('end', () => isolate.dispose());
    context.global.setSync('nest', () => {
      try { context.evalSync('end()'); } catch (error) { inner = error; }
    });
    assert.throws(() => context.evalSync('nest(); for (;;);'), DURING);
    assert.equal(inner.message, 'Isolate was disposed during execution');
  });

  test('by a callback of another isolate', () => {
    const first = make();
    const second = make();
    first.context.global.setSync('call', () => second.context.evalSync('end()'));
    second.context.global.setSync('end', () => first.isolate.dispose());
    assert.throws(() => first.context.evalSync('call(); for (;;);'), DURING);
    assert.equal(second.context.evalSync('1'), 1);
    second.isolate.dispose();
  });

  test('while it waits for a callback', async () => {
    const { isolate, context } = make();
    let go;
    let resolve;
    let after = 0;
    const asked = new Promise((yes) => { go = yes; });
    const later = () => { go(); return new Promise((yes) => { resolve = yes; }); };
    context.global.setSync('later', new ivm.Reference(later));
    context.global.setSync('after', () => { after += 1; });
    const pending = assert.rejects(context.eval('try { later.applySyncPromise(undefined, []) } finally { after() } after()'), DURING);
    await asked;
    isolate.dispose();
    await pending;
    resolve('too late');
    await new Promise((yes) => { setImmediate(yes); });
    assert.equal(after, 0);
  });

  test('with queued tasks', async () => {
    const { isolate, context, started } = make();
    const running = context.eval('started(); for (;;);');
    const queued = [context.eval('1'), context.evalClosure('return 1'), context.global.get('a'), isolate.compileScript('1')];
    const outcomes = Promise.allSettled([running, ...queued]);
    await started;
    isolate.dispose();
    const [first, ...others] = await outcomes;
    assert.equal(first.reason.message, 'Isolate was disposed during execution');
    assert.equal(others.length, 4);
    for (const { status, reason } of others) {
      assert.equal(status, 'rejected');
      assert.equal(reason.code, 'ERR_ISOLATE_DISPOSED');
      assert.match(reason.message, /^Isolate (is disposed|was disposed during execution)$/);
    }
  });

  test('with pending promises', async () => {
    const { isolate, context } = make();
    const abandoned = coded('DISPOSED', 'Promise was abandoned');
    const pending = [
      context.eval('new Promise(() => {})', { promise: true }),
      context.evalClosure('return new Promise(() => {})', [], { result: { promise: true } }),
    ];
    const outcomes = Promise.allSettled(pending);
    // Both have run, and only their promises are pending.
    assert.equal(await context.eval('1'), 1);
    isolate.dispose();
    for (const { status, reason } of await outcomes) {
      assert.equal(status, 'rejected');
      assert.throws(() => { throw reason; }, abandoned);
    }
  });

  test('with pending promises that a sync call gave', async () => {
    const { isolate, context } = make();
    const promise = context.evalSync('new Promise(() => {})', { promise: true });
    assert.ok(promise instanceof Promise);
    const outcome = assert.rejects(promise, coded('DISPOSED', 'Promise was abandoned'));
    isolate.dispose();
    await outcome;
  });

  test('leaves usable handles', async () => {
    const { isolate, context } = make();
    const held = context.evalSync('({ a: 1, f() {} })', { reference: true });
    const copy = context.evalSync('({ a: [1] })', { externalCopy: true });
    isolate.dispose();
    assert.throws(() => held.getSync('a'), GONE_SYNC);
    assert.throws(() => held.copySync(), GONE_SYNC);
    await assert.rejects(held.copy(), GONE);
    assert.equal(held.typeof, 'object');
    assert.equal(held.release(), undefined);
    assert.deepEqual(copy.copy(), { a: [1] });
    assert.equal(context.release(), true);
  });

  test('200 isolates, one after the other', () => passes(`
    isolate.dispose();
    const threads = async () => (await import('node:fs')).readdirSync('/proc/self/task').length;
    const round = (count) => {
      for (let i = 0; i < count; i += 1) {
        const one = new ivm.Isolate();
        const within = one.createContextSync();
        assert.equal(within.evalSync('globalThis.kept = new Array(100000).fill(1.5); 6 * 7'), 42);
        one.dispose();
      }
    };
    round(20);
    const before = process.memoryUsage.rss();
    round(200);
    const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
    assert.ok(grown < 150, grown + ' MB more');
    assert.ok(await threads() < 60, 'threads: ' + await threads());`, { timeout: 60_000 }));

  test('200 isolates at once', () => passes(`
    const all = await Promise.all(Array.from({ length: 200 }, async (_, i) => {
      const one = new ivm.Isolate({ memoryLimit: 16 });
      const within = await one.createContext();
      assert.equal(await within.eval(i + ' + 1'), i + 1);
      return { one, within };
    }));
    all.forEach(({ one }, i) => { if (i % 2) one.dispose(); });
    await Promise.all(all.map(async ({ within }, i) => {
      if (i % 2) await assert.rejects(within.eval('1'), { message: 'Isolate is disposed' });
      else assert.equal(await within.eval('2'), 2);
    }));
    all.forEach(({ one }, i) => { if (i % 2 === 0) one.dispose(); });`, { timeout: 60_000 }));

  test('a thousand at once, by few threads', () => passes(`
    let peak = 0;
    const watch = setInterval(() => { peak = Math.max(peak, ivm.engineStats().threads); }, 5);
    const results = await Promise.all(Array.from({ length: 1_000 }, (_, i) => ivm.createSandbox({}, { timeout: 50_000 }).execute('return ' + i)));
    clearInterval(watch);
    assert.deepEqual(results.map(({ result }) => result), Array.from({ length: 1_000 }, (_, i) => i));
    assert.ok(peak < 300, peak + ' threads');`, { timeout: 60_000 }));

  test('as many as the host can create in two seconds, without running out of threads', () => passes(`
    let peak = 0;
    for (const start = ms(); ms() - start < 2_000;) {
      for (let i = 0; i < 20; i += 1) new ivm.Isolate({ memoryLimit: 8 }).dispose();
      peak = Math.max(peak, ivm.engineStats().threads);
    }
    assert.ok(peak < 300, peak + ' threads');
    otherWorks();`));

  test('at any moment of a busy isolate, 150 times', () => passes(`
    for (let i = 0; i < 150; i += 1) {
      const one = new ivm.Isolate();
      const within = await one.createContext();
      within.global.setSync('call', (x) => x);
      const calls = [
        within.eval('for (let i = 0; i < 200; i += 1) call(i)'),
        within.evalClosure('return call({ a: $0 })', [i], { result: { copy: true } }),
        within.eval('new Promise((resolve) => { call(1); resolve(2) })', { promise: true }),
      ];
      const outcomes = Promise.allSettled(calls);
      const until = ms() + (i % 30) / 10;
      while (ms() < until) await new Promise((go) => setImmediate(go));
      one.dispose();
      for (const { status, reason } of await outcomes) if (status === 'rejected') assert.equal(reason.code, 'ERR_ISOLATE_DISPOSED', reason.stack);
    }
    otherWorks();`, { timeout: 60_000 }));
});
