// Concurrent executions of one plugin: each has its own context and its own count of calls in everything that it causes, and so has each
// event.

import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { RecentlyUsed } from '../../../surface/host/sandbox/plugin/isolate/recently-used.js';
import { errorOf, gate, hostContext, IsolatedVmSandbox, manifest, until } from '../../sandbox/plugin-helper.mjs';

/** A sandbox with one isolate, with names for its executions. */
async function stage(options = {}) {
  const sandbox = new IsolatedVmSandbox(null, options);
  const isolate = await sandbox.createIsolate(manifest());
  const bus = new EventEmitter();
  const reports = [];
  const gates = { one: gate(), two: gate() };
  const contextOf = (name, more) => hostContext({
    eventBus: bus, config: { name }, ownName: () => name, report: (what) => { reports.push(`${name}: ${what}`); }, wait: (which) => gates[which].promise,
    [`only${name}`]: () => name, ...more,
  });
  const run = (name, code, settings, more) => sandbox.executeInSandbox(isolate, code, contextOf(name, more), settings);
  return { sandbox, isolate, bus, reports, gates, run };
}

/** What code sees as its `context`. */
const SELF = '[context.ownName(), context.config.name, typeof context.onlyA, typeof context.onlyB].join()';
const [A, B] = ['A,A,function,undefined', 'B,B,undefined,function'];

describe('plugins: `context` is the execution\'s own', () => {
  const ways = {
    'after an await of the host': `(async () => { await context.wait('one'); return ${SELF} })()`,
    'after several': `(async () => { await context.wait('one'); await null; await new Promise((resolve) => resolve()); return ${SELF} })()`,
    'in a reaction': `context.wait('one').then(() => 0).finally(() => {}).then(() => ${SELF})`,
    'in a reaction to a failure': `context.wait('one').then(() => { throw 1 }).catch(() => ${SELF})`,
    'after Promise.all': `Promise.all([context.wait('one'), 1]).then(() => ${SELF})`,
    'in an async generator': `(async () => { async function* each() { await context.wait('one'); yield ${SELF} } for await (const value of each()) return value })()`,
    'in a callback of a thenable': `context.wait('one').then(() => ({ then(resolve) { resolve(${SELF}) } }))`,
    'in a function that other executions can call': `function self() { return ${SELF} } context.wait('one').then(() => self())`,
    'in code that is evaluated': `context.wait('one').then(() => (0, eval)(${JSON.stringify(SELF)}))`,
    'after waiting for memory': `(async () => {
      await context.wait('one');
      const cell = new Int32Array(new SharedArrayBuffer(4));
      const waited = Atomics.waitAsync(cell, 0, 0);
      Atomics.notify(cell, 0);
      await waited.value;
      return ${SELF};
    })()`,
  };
  for (const [way, code] of Object.entries(ways)) {
    test(way, async () => {
      const { sandbox, gates, run } = await stage();
      const first = run('A', code);
      assert.equal(await run('B', SELF), B);
      const third = run('B', `context.wait('two').then(() => ${SELF})`);
      gates.one.open();
      assert.equal(await first, A);
      assert.equal(await run('A', SELF), A);
      gates.two.open();
      assert.equal(await third, B);
      sandbox.disposeAll();
    });
  }

  test('in timers', async () => {
    const { sandbox, reports, run } = await stage({ timers: true });
    await run('A', `
      setTimeout((text) => { context.report('timeout ' + text + ${SELF}); queueMicrotask(() => context.report('microtask ' + ${SELF})) }, 300, 'with ');
      let count = 0;
      const interval = setInterval(() => { context.report('interval ' + ${SELF}); if ((count += 1) === 2) clearInterval(interval) }, 200);
      setImmediate(async () => { await null; context.report('immediate ' + ${SELF}) });
      0`);
    assert.equal(await run('B', SELF), B);
    await until(() => reports.length === 5);
    assert.deepEqual(reports.toSorted(), [`A: immediate ${A}`, `A: interval ${A}`, `A: interval ${A}`, `A: microtask ${A}`, `A: timeout with ${A}`]);
    sandbox.disposeAll();
  });

  test('in event handlers: that of the execution that registered them', async () => {
    const { sandbox, bus, reports, gates, run } = await stage();
    const listen = (method) => `context.eventBus.${method}('item.indexed', async () => { context.report('received ' + ${SELF}); await context.wait('one'); context.report('continued ' + ${SELF}) }); 0`;
    await run('A', listen('on'));
    await run('B', listen('once'));
    bus.emit('item.indexed');
    await until(() => reports.length === 2);
    assert.deepEqual(reports.splice(0).toSorted(), [`A: received ${A}`, `B: received ${B}`]);
    const beside = run('B', `context.wait('one').then(() => ${SELF})`);
    gates.one.open();
    await until(() => reports.length === 2);
    assert.deepEqual(reports.splice(0).toSorted(), [`A: continued ${A}`, `B: continued ${B}`]);
    assert.equal(await beside, B);
    // A handler that another handler registers belongs to the same execution.
    await run('A', `context.eventBus.on('item.removed', () => { context.eventBus.on('item.indexed', () => context.report('late ' + ${SELF})) }); 0`);
    bus.emit('item.removed');
    await until(() => bus.listenerCount('item.indexed') === 2);
    await run('B', '0');
    bus.emit('item.indexed');
    await until(() => reports.some((text) => text.includes('late')));
    assert.ok(reports.includes(`A: late ${A}`));
    sandbox.disposeAll();
  });

  test('in functions of earlier executions: that of the caller', async () => {
    const { sandbox, run } = await stage();
    await run('A', `function self() { return ${SELF} } class Service { async self() { await null; return ${SELF} } } var service = new Service(); var kept = context; 0`);
    assert.deepEqual(await run('B', '(async () => [self(), await service.self(), kept.ownName(), kept === context])()'), [B, B, 'A', false]);
    sandbox.disposeAll();
  });

  test('in modules', async () => {
    const modules = { 'self.js': `export const self = () => ${SELF}; export const later = async () => { await context.wait('one'); return ${SELF} };` };
    const { sandbox, gates, run } = await stage({ modules });
    const code = 'import { later, self } from "self.js"; const before = self(); await null; export default [before, self(), await later(), self()];';
    const both = [run('A', code), run('B', code)];
    const imported = run('A', "context.wait('one').then(() => import('self.js')).then(({ self }) => self())");
    gates.one.open();
    assert.deepEqual(await Promise.all([...both, imported]), [[A, A, A, A], [B, B, B, B], A]);
    sandbox.disposeAll();
  });

  test('a replacement that an execution assigns is its own, too', async () => {
    const { sandbox, gates, run } = await stage();
    const first = run('A', "const { wait } = context; context = { mine: 1, ownName: context.ownName }; wait('one').then(() => [Object.keys(context).join(), context.ownName()])");
    assert.equal(await run('B', SELF), B);
    gates.one.open();
    assert.deepEqual(await first, ['mine,ownName', 'A']);
    assert.equal(await run('A', SELF), A);
    await run('A', 'delete globalThis.context; 0');
    assert.equal(await run('A', SELF), A);
    // If the plugin declares the name itself, it still refers to the context.
    await run('A', 'function context() {} 0');
    assert.equal(await run('B', SELF), B);
    sandbox.disposeAll();
  });

  test('also if a snapshot has declared the name', async () => {
    const snapshot = ivm.Isolate.createSnapshot([{ code: 'var context = 1; function self() { return context.ownName() }' }]);
    const { sandbox, gates, run } = await stage({ snapshot });
    const first = run('A', `context.wait('one').then(() => [self(), ${SELF}, 'onlyA' in context, Object.keys(context).includes('onlyB')])`);
    assert.equal(await run('B', SELF), B);
    gates.one.open();
    assert.deepEqual(await first, ['A', A, true, false]);
    assert.deepEqual(await run('B', `'use strict';
      ['context.x = 1', 'delete context.logger', 'Object.setPrototypeOf(context, null)', 'Object.preventExtensions(context)'].map((code) => { try { (0, eval)('"use strict"; ' + code); return code } catch (error) { return error.name } }).join()`),
    'TypeError,TypeError,TypeError,TypeError');
    sandbox.disposeAll();
  });

  test('the object behind it is out of reach', async () => {
    const { sandbox, run } = await stage();
    assert.deepEqual(await run('A', `
      const { get, set, enumerable, configurable } = Object.getOwnPropertyDescriptor(globalThis, 'context');
      const seen = [];
      for (const trap of ['number', 'gate', 'context', 'get', 'set', 'then']) Object.defineProperty(Object.prototype, trap, { get() { seen.push(this) }, set() { seen.push(this) }, configurable: true });
      for (const index of [0, 1, 2]) Object.defineProperty(Array.prototype, index, { get() { seen.push(this) }, set() { seen.push(this) }, configurable: true });
      const same = get.call(null) === context;
      set.call(null, context);
      const result = [same, context.ownName(), Object.isFrozen(get), Object.isFrozen(set), 'prototype' in get, enumerable, configurable, seen.length];
      for (const trap of ['number', 'gate', 'context', 'get', 'set', 'then']) delete Object.prototype[trap];
      for (const index of [0, 1, 2]) delete Array.prototype[index];
      result`), [true, 'A', true, true, false, true, true, 0]);
    sandbox.disposeAll();
  });
});

describe('plugins: calls count for their caller', () => {
  const tooMany = 'The maximum of 3 API calls is exceeded';
  const settled = (calls) => `[${calls.join(', ')}].map((call) => { try { return call() } catch (error) { return error.message } })`;
  const ownName = (times, context = 'context') => settled(Array.from({ length: times }, () => `() => ${context}.ownName()`));

  test('concurrent executions', async () => {
    const { sandbox, gates, run } = await stage({ maxApiCalls: 3 });
    const first = run('A', `context.wait('one').then(() => ${ownName(3)})`);
    assert.deepEqual(await run('B', ownName(4)), ['B', 'B', 'B', tooMany]);
    gates.one.open();
    assert.deepEqual(await first, ['A', 'A', tooMany]);
    assert.deepEqual(await run('A', ownName(3)), ['A', 'A', 'A']);
    sandbox.disposeAll();
  });

  test('through functions and contexts of other executions', async () => {
    const { sandbox, gates, run } = await stage({ maxApiCalls: 3 });
    const first = run('A', `var kept = context; function mine() { return context.ownName() } context.wait('one').then(() => ${ownName(2)})`);
    assert.deepEqual(await run('B', settled(['() => kept.ownName()', '() => mine()', '() => context.ownName()', '() => kept.ownName()', '() => mine()'])),
      ['A', 'B', 'B', tooMany, tooMany]);
    gates.one.open();
    assert.deepEqual(await first, ['A', 'A']);
    sandbox.disposeAll();
  });

  test('functions that methods have returned', async () => {
    const { sandbox, run } = await stage({ maxApiCalls: 3 });
    const more = { make: () => () => 'made' };
    assert.deepEqual(await run('A', `var made = context.make(); ${settled(['() => made()', '() => made()', '() => made()'])}`, {}, more), ['made', 'made', tooMany]);
    assert.deepEqual(await run('B', settled(['() => made()', '() => made()', '() => made()', '() => made()'])), ['made', 'made', 'made', tooMany]);
    sandbox.disposeAll();
  });

  test('each event has its own budget', async () => {
    const { sandbox, bus, reports, run } = await stage({ maxApiCalls: 3 });
    await run('A', `
      context.eventBus.on('item.indexed', async (n) => {
        context.report('first of ' + n); await null; context.report('second'); context.report('third');
        try { context.report('fourth') } catch { refused += 1 }
      });
      var refused = 0; 0`);
    for (let n = 0; n < 3; n += 1) bus.emit('item.indexed', n);
    await until(() => reports.length === 9);
    assert.equal(await run('B', 'refused'), 3);
    assert.equal(reports.length, 9);
    sandbox.disposeAll();
  });

  test('events that a plugin emits count for their emitter', async () => {
    const { sandbox, bus, reports, run } = await stage({ maxApiCalls: 3 });
    await run('A', "context.eventBus.on('item.indexed', () => { context.report('received'); context.eventBus.emit('item.indexed') }); 0");
    bus.emit('item.indexed');
    await until(() => reports.length === 2);
    // If it had unlimited calls, they would come in between.
    for (let i = 0; i < 5; i += 1) await run('B', '0');
    assert.equal(reports.length, 2);
    assert.equal((await errorOf(run('B', "context.eventBus.emit('item.indexed'); context.wait('one').then(() => 0); context.ownName(); context.ownName()"))).failure.message, tooMany);
    sandbox.disposeAll();
  });

  test('timers', async () => {
    const { sandbox, reports, run } = await stage({ maxApiCalls: 3, timers: true });
    await run('A', "for (let i = 0; i < 5; i += 1) setTimeout(() => { try { context.report('timer') } catch { refused += 1 } }, 1); var refused = 0; 0");
    await until(() => reports.length === 3);
    assert.deepEqual(await run('B', ownName(3)), ['B', 'B', 'B']);
    let refused;
    while (refused !== 2) refused = await run('B', 'refused');
    sandbox.disposeAll();
  });

  test('are distinguished by `onUsage`', async () => {
    const { sandbox, gates, run } = await stage();
    const usage = {};
    const of = (name) => ({ onUsage: ({ hostCalls }) => { usage[name] = hostCalls; } });
    const first = run('A', "context.wait('one').then(() => context.ownName())", of('A'));
    await run('B', 'var kept = context; for (let i = 0; i < 5; i += 1) context.ownName()', of('B'));
    gates.one.open();
    await first;
    await run('C', 'kept.ownName()', of('C'));
    assert.deepEqual(usage, { A: 2, B: 5, C: 1 });
    sandbox.disposeAll();
  });

  test('work long after its execution can make calls if these are unlimited', async () => {
    for (const maxApiCalls of [undefined, 10]) {
      const { sandbox, run } = await stage({ maxApiCalls });
      await run('A', 'var open; new Promise((resolve) => { open = resolve }).then(() => { try { reports = kept.ownName() } catch (error) { reports = error.message } }); var kept, reports; 0');
      for (let i = 0; i < 1_050; i += 1) await run('B', '0');
      await run('B', 'kept = context; open()');
      assert.equal(await run('B', 'reports'), maxApiCalls === undefined ? 'B' : 'An execution that has ended long ago cannot call its host any more');
      sandbox.disposeAll();
    }
  });
});

describe('plugins: remains of an execution', () => {
  const spin = (time) => { for (const end = performance.now() + time; performance.now() < end;); };

  test('are not contexts kept by the host for unused promises', async () => {
    const { sandbox, run } = await stage();
    const slow = () => { spin(600); return Promise.resolve(1); };
    await errorOf(run('A', 'globalThis.kept = context; context.slow()', { deadline: 300 }, { slow }));
    assert.equal(await run('B', 'kept.ownName()'), 'A');
    for (let i = 0; i < 260; i += 1) await run('B', '0');
    assert.match((await errorOf(run('B', 'kept.ownName()'))).message, /ended/);
    sandbox.disposeAll();
  });

  test('are not processor time of other executions', async () => {
    const sandbox = new IsolatedVmSandbox(null);
    const isolate = await sandbox.createIsolate({ ...manifest(), limits: { cpuMs: 200 } });
    const end = gate();
    const context = hostContext({ wait: () => end.promise, ping: async () => 1 });
    const waiting = sandbox.executeInSandbox(isolate, 'context.wait()', context);
    for (let i = 0; i < 30; i += 1) await sandbox.executeInSandbox(isolate, '0', context);
    let used;
    const busy = sandbox.executeInSandbox(isolate, '(async () => { for (;;) { for (const end = Date.now() + 20; Date.now() < end;); await context.ping() } })()', context, { onUsage: ({ cpuMs }) => { used = cpuMs; } });
    assert.equal((await errorOf(busy)).kind, 'CPU');
    // The budget of the two of them, and some for work that has begun.
    assert.ok(used < 1_500, `${used} ms`);
    end.open();
    await waiting.catch(() => {});
    sandbox.disposeAll();
  });

  test('can be a frozen global object', async () => {
    const { sandbox, run } = await stage();
    await run('A', 'Object.freeze(globalThis); 0');
    assert.equal(await run('B', SELF), B);
    assert.equal(await run('B', 'pluginId'), manifest().id);
    sandbox.disposeAll();
  });
});

test('the newest numbered object is never evicted for earlier ones', () => {
  const recent = new RecentlyUsed(2);
  const used = [1, 2, 3].map(() => recent.add({ isInUse: true }));
  const [fourth, fifth] = [{ isInUse: false }, { isInUse: false }];
  const number = recent.add(fourth);
  assert.equal(recent.use(number), fourth);
  const last = recent.add(fifth);
  assert.deepEqual([recent.use(number), recent.use(last)], [undefined, fifth]);
  assert.ok(used.every((each) => recent.use(each) !== undefined));
});

test('an execution ends if a limit stops another one that waits for the same promise', { skip: process.platform !== 'linux' && 'Linux only' }, async (t) => {
  const sandbox = new IsolatedVmSandbox(null);
  t.after(() => sandbox.disposeAll());
  const isolate = await sandbox.createIsolate({ ...manifest(), limits: { cpuMs: 200 } });
  const opened = gate();
  const asked = gate();
  const context = hostContext({ wait: () => { asked.open(); return opened.promise; } });
  const run = (code) => sandbox.executeInSandbox(isolate, code, context);
  const begins = run("(async () => { globalThis.shared = context.wait(); await shared; return 'first' })()");
  await asked.promise;
  const endless = errorOf(run('(async () => { await shared; for (;;); })()'));
  const ends = run("(async () => { await shared; return 'last' })()");
  await run('0');
  opened.open();
  assert.equal(await begins, 'first');
  assert.equal((await endless).kind, 'CPU');
  assert.equal(await ends, 'last');
});
