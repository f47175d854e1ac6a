// `syncCalls: 'caller'`: sync calls that run on the caller's own thread.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { run } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

const AVAILABLE = process.platform === 'linux' && process.arch === 'x64';
const ON_CALLER = "assert.equal(ivm.configureEngine({ syncCalls: 'caller' }).syncCalls, 'caller');";
const here = (code) => passes(`${ON_CALLER}\n${code}`, { timeout: 60_000 });

/** Guests that V8 does not stop, or stops late. */
const ENDLESS = [
  'Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)',
  'const a = new Array(3e6).fill("x"); for (;;) JSON.stringify(a)',
  'new Proxy({}, { get: () => Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1) }).x',
  '"ab".repeat(2 ** 26).replaceAll("a", "xyz").replaceAll("b", "xyz").length',
];

const STOPPED = "['ERR_ISOLATE_UNRESPONSIVE', 'ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_MEMORY']";

describe("sync calls on the caller's thread", { skip: !AVAILABLE && 'elsewhere they run on threads of their own' }, () => {
  test('return values and errors, call the host, and nest', () => here(`
    context.global.setSync('increment', new ivm.Callback((n) => n + 1));
    assert.equal(context.evalSync('increment(41)'), 42);
    context.global.setSync('again', new ivm.Callback(() => context.evalSync('increment(5) * 2')));
    assert.equal(context.evalSync('again() + 1'), 13);
    assert.throws(() => context.evalSync('throw new RangeError("x")'), { name: 'RangeError', message: 'x' });
    context.global.setSync('fails', new ivm.Callback(() => { throw new TypeError('y'); }));
    assert.throws(() => context.evalSync('fails()'), { name: 'TypeError', message: 'y' });
    assert.equal(context.evalSync('let p = 1; Promise.resolve().then(() => { p = 2; }); p'), 1);
    assert.equal(context.evalSync('p'), 2);
    assert.equal(await context.eval('Promise.resolve(5)', { promise: true }), 5);
    assert.equal(context.evalSync('increment(1)'), 2);
    context.global.setSync('deeper', new ivm.Callback((n) => (n === 0 ? 0 : context.evalSync('deeper(' + (n - 1) + ') + 1'))));
    assert.equal(context.evalSync('deeper(50)'), 50);
    assert.throws(() => context.evalSync('(function f() { f(); })()'), { name: 'RangeError' });`));

  test('run on the thread of their caller', () => here(`
    const all = Array.from({ length: 20 }, () => new ivm.Isolate().createContextSync());
    for (let round = 0; round < 100; round += 1) for (const one of all) assert.equal(one.evalSync('6 * 7'), 42);
    const used = process.resourceUsage?.();
    for (let round = 0; round < 20_000; round += 1) context.evalSync('1');
    // A message to another thread wakes one of two threads.
    const after = process.resourceUsage?.();
    if (used?.voluntaryContextSwitches > 0) assert.ok(after.voluntaryContextSwitches - used.voluntaryContextSwitches < 10_000, JSON.stringify([used, after]));`));

  test('call other isolates, also through the host', () => here(`
    const other = new ivm.Isolate();
    const second = other.createContextSync();
    context.global.setSync('triple', second.evalSync('(x) => x * 3', { reference: true }));
    assert.equal(context.evalSync('triple.applySync(undefined, [5])'), 15);
    second.global.setSync('host', new ivm.Callback((n) => context.evalSync('triple.applySync(undefined, [' + n + '])')));
    assert.throws(() => second.evalSync('for (;;) host(1)', { timeout: 100 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    for (let n = 0; n < 200; n += 1) assert.equal(second.evalSync('host(' + n + ')'), 3 * n);
    assert.equal(context.evalSync('const all = []; for (let n = 0; n < 1e6; n += 1) all.push([n]); all.length'), 1e6);`));

  test('meet async calls', () => here(`
    const results = [];
    context.global.setSync('note', new ivm.Callback((value) => { results.push(value); }));
    for (let round = 0; round < 50; round += 1) {
      const pending = context.eval('note("async"); ' + round);
      assert.equal(context.evalSync('note("sync"); 1'), 1);
      assert.equal(await pending, round);
    }
    assert.equal(results.length, 100);
    const long = context.eval('const end = Date.now() + 200; while (Date.now() < end); 5');
    assert.equal(context.evalSync('6'), 6);
    assert.equal(await long, 5);
    context.global.setSync('later', new ivm.Callback(() => { context.evalIgnored('globalThis.ignored = 7'); return 1; }));
    assert.equal(context.evalSync('later()'), 1);
    assert.equal(await context.eval('ignored'), 7);`));

  for (const [reason, options, act, outcome] of [
    ['a deadline', '{ deadline: 50 }', '', 'ERR_ISOLATE_DEADLINE'],
    ['disposal', '{}', 'isolate.dispose();', 'ERR_ISOLATE_DISPOSED'],
    ['the memory limit', '{}', 'syncError(() => context.evalSync("const all = []; for (;;) all.push(new Array(1000).fill(1.5))"));', 'ERR_ISOLATE_MEMORY'],
  ]) {
    test(`end by ${reason} while the host runs`, () => here(`
      for (let round = 0; round < 2; round += 1) {
        const isolate = new ivm.Isolate({ memoryLimit: 32 });
        const context = isolate.createContextSync();
        context.global.setSync('wait', () => { ${act} block(600); return 'value'; });
        assert.equal(syncError(() => context.evalSync('wait()', ${options})).code, '${outcome}');
        otherWorks();
        if (!isolate.isDisposed) assert.equal(context.evalSync('1 + 1'), 2);
      }`));
  }

  test('end by their timeout, which stands still while the host runs', () => here(`
    for (let round = 0; round < 5; round += 1) {
      assert.throws(() => context.evalSync('for (;;);', { timeout: 20 }), { code: 'ERR_ISOLATE_TIMEOUT' });
      assert.equal(context.evalSync('1'), 1);
    }
    context.global.setSync('wait', () => { block(30); });
    assert.equal(context.evalSync('for (let i = 0; i < 10; i += 1) wait(); 3', { timeout: 200 }), 3);`));

  test('return without a guest that does not stop', () => here(`
    ivm.configureEngine({ terminationGrace: 20 });
    for (const code of ${JSON.stringify(ENDLESS)}) {
      for (let round = 0; round < 3; round += 1) {
        const guest = new ivm.Isolate();
        const error = syncError(() => guest.createContextSync().evalSync(code, { timeout: 20 }));
        assert.ok(${STOPPED}.includes(error.code), error.stack);
        otherWorks();
        assert.equal(context.evalSync('6 * 7'), 42);
      }
    }
    // Also below a function of the host, and below another guest.
    const nested = new ivm.Isolate().createContextSync();
    context.global.setSync('nested', new ivm.Callback(() => {
      assert.ok(${STOPPED}.includes(syncError(() => nested.evalSync(${JSON.stringify(ENDLESS[0])}, { timeout: 20 })).code));
      return 8;
    }));
    assert.equal(context.evalSync('nested() + 1'), 9);
    assert.ok(ivm.engineStats().endings.abandoned > 0);`));

  test('and the host exits in the middle of them', async () => {
    for (const [code, program] of [
      [7, "context.global.setSync('leave', () => { process.exit(7); }); context.evalSync('leave()');"],
      [8, "const inner = new ivm.Isolate().createContextSync(); inner.global.setSync('leave', () => { process.exit(8); }); context.global.setSync('call', () => inner.evalSync('leave()')); context.evalSync('call()');"],
    ]) {
      const prelude = "const isolate = new ivm.Isolate(); const context = isolate.createContextSync(); ivm.configureEngine({ syncCalls: 'caller' });";
      const result = await run(`${prelude}\n${program}`, { timeout: 30_000 });
      assert.deepEqual([result.code, result.signal], [code, null], result.stderr);
    }
  });

  test('refuses other values', () => here(`
    for (const syncCalls of ['', 'Caller', 1, true, {}]) {
      assert.throws(() => ivm.configureEngine({ syncCalls }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '\`syncCalls\` must be "thread" or "caller"' });
    }
    assert.equal(ivm.configureEngine({ syncCalls: 'thread' }).syncCalls, 'thread');
    assert.equal(context.evalSync('6 * 7'), 42);`));
});
