// The order in which calls run, how they nest, and what happens at the end of each.

import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { passes } from '../../isolate/helper.mjs';

/** An isolate for one test, with `log` and `order()`. */
async function within(body) {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  context.evalSync('globalThis.log = []');
  try {
    await body({ isolate, context, order: () => context.evalSync('log.splice(0).join()') });
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

describe('order', () => {
  test('async tasks of all kinds run in order of arrival', () => within(async ({ isolate, context, order }) => {
    const script = isolate.compileScriptSync('log.push("script")');
    const push = context.evalSync('(function (x) { log.push(x) })', { reference: true });
    const calls = [];
    for (let i = 0; i < 20; i += 1) {
      calls.push(context.eval(`log.push(${i}); for (const end = Date.now() + ${i % 3}; Date.now() < end;);`));
      if (i % 5 === 0) calls.push(script.run(context));
      if (i % 5 === 1) calls.push(push.apply(undefined, ['apply']));
      if (i % 5 === 2) context.evalIgnored('log.push("ignored")');
      if (i % 5 === 3) calls.push(context.evalClosure('log.push($0)', ['closure']));
    }
    await Promise.all(calls);
    const after = ['script', 'apply', 'ignored', 'closure'];
    assert.equal(order(), Array.from({ length: 20 }, (_, i) => [i, after[i % 5]]).flat().filter((x) => x !== undefined).join());
  }));

  test('calls of one turn run while their host continues, even if the isolate was idle in between', () => within(async ({ isolate, context }) => {
    const count = new Int32Array(new SharedArrayBuffer(4));
    context.global.setSync('count', count.buffer, { copy: true });
    const script = isolate.compileScriptSync('Atomics.add(new Int32Array(count), 0, 1)');
    const calls = [];
    const limit = performance.now() + 30_000;
    for (let i = 0; i < 20; i += 1) {
      calls.push(script.run(context));
      while (Atomics.load(count, 0) <= i) assert.ok(performance.now() < limit, `${Atomics.load(count, 0)} of ${i + 1} calls have run`);
      // Its thread may go to sleep, or be returned.
      Atomics.wait(count, 0, i + 1, i % 4);
    }
    assert.deepEqual(await Promise.all(calls), calls.map((_, i) => i));
  }));

  test('promises settle in the order of the calls', () => within(async ({ context }) => {
    const settled = [];
    await Promise.all(Array.from({ length: 100 }, (_, i) => context.eval(i % 7 === 0 ? 'throw 1' : '1').catch(() => {}).then(() => settled.push(i))));
    assert.equal(settled.length, 100);
    // Rejections take an additional turn through `catch`, so each kind is in order by itself.
    for (const kind of [settled.filter((i) => i % 7 === 0), settled.filter((i) => i % 7 !== 0)]) assert.deepEqual(kind, kind.toSorted((a, b) => a - b));
  }));

  test('a sync call starts after the running task and before queued ones', () => within(async ({ context, order }) => {
    let go;
    const started = new Promise((resolve) => { go = resolve; });
    context.global.setSync('started', new ivm.Callback(() => go(), { ignored: true }));
    const calls = [
      context.eval('log.push("running"); started(); for (const end = Date.now() + 100; Date.now() < end;); log.push("ran")'),
      context.eval('log.push("queued 1")'),
      context.eval('log.push("queued 2")'),
    ];
    await started;
    context.evalSync('log.push("sync")');
    await Promise.all(calls);
    assert.equal(order(), 'running,ran,sync,queued 1,queued 2');
  }));

  test('a sync call from a callback runs within the waiting call; queued tasks do not', () => within(async ({ context, order }) => {
    context.global.setSync('call', () => context.evalSync('log.push("nested")'));
    const calls = [context.eval('log.push("before"); call(); log.push("after")'), context.eval('log.push("queued")')];
    await Promise.all(calls);
    assert.equal(order(), 'before,nested,after,queued');
  }));

  test('no queued task starts while a guest waits for a promise of the host', () => within(async ({ context, order }) => {
    const later = async () => {
      queued = context.eval('log.push("queued")');
      await new Promise((resolve) => { setTimeout(resolve, 30); });
      context.evalSync('log.push("sync")');
      return 1;
    };
    let queued;
    context.global.setSync('later', new ivm.Reference(later));
    await context.eval('log.push("before"); later.applySyncPromise(undefined, []); log.push("after")');
    await queued;
    assert.equal(order(), 'before,sync,after,queued');
  }));

  test('isolates do not wait for each other', () => within(({ context }) => within(async ({ context: other }) => {
    let go;
    let asked;
    const waits = new Promise((resolve) => { asked = resolve; });
    context.global.setSync('later', new ivm.Reference(() => new Promise((resolve) => { go = resolve; asked(); })));
    const waiting = context.eval('later.applySyncPromise(undefined, [])');
    await waits;
    for (let i = 0; i < 10; i += 1) assert.equal(await other.eval(`${i}`), i);
    go(7);
    assert.equal(await waiting, 7);
  })));

  test('AsyncLocalStorage is kept across awaits', () => within(async ({ isolate, context }) => {
    const storage = new AsyncLocalStorage();
    const one = (id) => storage.run(id, async () => {
      const seen = [storage.getStore()];
      await context.eval('1');
      seen.push(storage.getStore());
      await assert.rejects(context.eval('throw new Error("x")'));
      seen.push(storage.getStore());
      const next = await isolate.createContext();
      seen.push(storage.getStore());
      await next.evalClosure('return new Promise((resolve) => resolve(1))', [], { result: { promise: true } });
      seen.push(storage.getStore());
      await ivm.createSandbox({ f: async () => 1 }).execute('f()');
      seen.push(storage.getStore());
      return seen;
    });
    const all = await Promise.all(Array.from({ length: 10 }, (_, i) => one(i)));
    assert.deepEqual(all, Array.from({ length: 10 }, (_, i) => Array(6).fill(i)));
  }));
});

describe('nesting', () => {
  test('host and guest alternately, 50 deep', () => within(async ({ context }) => {
    let deepest = 0;
    context.global.setSync('down', (n) => {
      deepest = Math.max(deepest, n);
      return n === 50 ? 0 : context.evalSync(`down(${n + 1}) + 1`);
    });
    assert.equal(context.evalSync('down(1)'), 49);
    assert.equal(deepest, 50);
    deepest = 0;
    assert.equal(await context.eval('down(1)'), 49);
    assert.equal(deepest, 50);
  }));

  test('through two isolates alternately, 50 deep', () => within(({ context: a }) => within(async ({ context: b }) => {
    const down = (n) => (n === 50 ? 0 : (n % 2 ? a : b).evalSync(`down(${n + 1}) + 1`));
    a.global.setSync('down', down);
    b.global.setSync('down', down);
    assert.equal(a.evalSync('down(1)'), 49);
    assert.equal(await b.eval('down(1)'), 49);
  })));

  test('an error propagates through all levels', () => within(({ context }) => {
    context.global.setSync('down', (n) => {
      if (n === 20) throw new RangeError('at the bottom');
      return context.evalSync(`down(${n + 1})`);
    });
    assert.throws(() => context.evalSync('down(1)'), { name: 'RangeError', message: 'at the bottom' });
    assert.equal(context.evalSync('1'), 1);
  }));

  test('infinite recursion is an error, and both sides stay usable', () => passes(`
    context.global.setSync('down', () => context.evalSync('down()'));
    assert.throws(() => context.evalSync('down()'), { name: 'RangeError' });
    assert.equal(context.evalSync('1'), 1);
    await assert.rejects(context.eval('down()'), { name: 'RangeError' });
    assert.throws(() => context.evalSync('(function f() { f() })()'), { name: 'RangeError', message: 'Maximum call stack size exceeded' });
    assert.equal(await context.eval('2'), 2);
    otherWorks();`));

  test('concurrent calls with awaited callbacks get their own results', () => within(async ({ context }) => {
    context.global.setSync('later', new ivm.Reference(async (n) => {
      await new Promise((resolve) => { setImmediate(resolve); });
      return context.evalSync(`${n} * 2`);
    }));
    const results = await Promise.all([1, 2, 3].map((n) => context.eval(`later.applySyncPromise(undefined, [${n}])`)));
    assert.deepEqual(results, [2, 4, 6]);
  }));
});

describe('the end of a call', () => {
  test('runs microtasks before it returns', () => within(async ({ context, order }) => {
    context.evalSync('Promise.resolve().then(() => { log.push("a"); return Promise.resolve() }).then(() => log.push("b")); log.push("first")');
    assert.equal(order(), 'first,a,b');
    await context.eval('(async () => { for (let i = 0; i < 3; i += 1) { await 0; log.push(i) } })(); log.push("first")');
    assert.equal(order(), 'first,0,1,2');
    const push = context.evalSync('(function () { Promise.resolve().then(() => log.push("task")) })', { reference: true });
    push.applySync();
    assert.equal(order(), 'task');
  }));

  test('of a nested call does not run them; of the outermost it does', () => within(({ context, order }) => {
    context.global.setSync('call', () => context.evalSync('Promise.resolve().then(() => log.push("task")); log.push("nested")'));
    context.evalSync('call(); log.push("after")');
    assert.equal(order(), 'nested,after,task');
  }));

  test('an unhandled rejection replaces the result of that call, and of no other', () => within(async ({ context }) => {
    const outcomes = await Promise.allSettled([
      context.eval('1'), context.eval('Promise.reject(new RangeError("mine")); 2'), context.eval('3'),
      context.eval('Promise.resolve().then(() => { throw new TypeError("later") }); 4'), context.eval('5'),
    ]);
    assert.deepEqual(outcomes.map(({ value, reason }) => value ?? `${reason.name}: ${reason.message}`), [1, 'RangeError: mine', 3, 'TypeError: later', 5]);
    assert.throws(() => context.evalSync('Promise.reject(new Error("sync")); 1'), { message: 'sync' });
    assert.equal(context.evalSync('6'), 6);
    assert.throws(() => context.evalSync('Promise.reject("primitive"); 1'), (error) => error === 'primitive');
    assert.throws(() => context.evalClosureSync('Promise.reject(new Error("closure")); return 1'), { message: 'closure' });
  }));

  test('a rejection handled in the same call does not', () => within(async ({ context }) => {
    assert.equal(context.evalSync('const p = Promise.reject(new Error("x")); Promise.resolve().then(() => p.catch(() => {})); 7'), 7);
    assert.equal(await context.eval('(async () => { try { await Promise.reject(1) } catch {} })(); 8'), 8);
  }));

  test('a rejection that the caller receives as a promise is the caller\'s to handle', () => within(async ({ context }) => {
    await assert.rejects(context.eval('Promise.reject(new Error("taken"))', { promise: true }), { message: 'taken' });
    await assert.rejects(context.evalSync('Promise.reject(new Error("taken, too"))', { promise: true }), { message: 'taken, too' });
    assert.equal(await context.eval('1'), 1);
  }));
});
