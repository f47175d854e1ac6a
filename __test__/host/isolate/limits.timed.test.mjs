// `timeout` and `deadline`: they stop whatever runs, at the right call, and the isolate keeps working. memory.timed.test.mjs tests memory.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const TIMEOUT = "{ name: 'Error', code: 'ERR_ISOLATE_TIMEOUT', message: 'Script execution timed out.' }";
const DEADLINE = "{ name: 'Error', code: 'ERR_ISOLATE_DEADLINE' }";

describe('timeout stops', () => {
  const wasm = '0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,3,64,12,0,11,11';
  const guests = [
    'for (;;);',
    'while (true) {}',
    'do {} while (true);',
    'outer: for (;;) { for (;;) continue outer; }',
    'for (;;){ new Array(1000).fill(1.5) }',
    'for (;;){ new Array(1000).fill(0) }',
    'for (;;){ new Array(64).fill({}) }',
    'for (;;){ new Float64Array(1000).fill(1.5) }',
    'for (;;){ Array.from({ length: 100 }, () => 1.5) }',
    'for (;;){ [].concat([1], [2]) }',
    'for (;;){ Math.random() }',
    'for (let i = 0;; i += 1) { const a = []; for (let j = 0; j < 1000; j += 1) a[j] = 1.5; }',
    'for (;;){ const a = [...new Array(500)]; a.length = 0 }',
    'for (;;) try { throw 1 } catch {}',
    'for (;;) try { for (;;); } finally { for (;;); }',
    '(function f() { try { f() } finally { f() } })()',
    'const g = (function* () { for (;;) yield 1 })(); for (const x of g);',
    'for (const x of { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) });',
    'const m = new Map([[0, 0]]); let n = 0; m.forEach((_, k) => { m.delete(k); m.set(k + 1, 0) });',
    '[2, 1].sort(() => { for (;;); })',
    'JSON.stringify({ toJSON() { for (;;); } })',
    '`${{ toString() { for (;;); } }}`',
    'new Proxy({}, { get() { for (;;); } }).x',
    'eval("for (;;);")',
    'new Function("for (;;);")()',
    'class A { static { for (;;); } }',
    'let x = 3n; for (;;) x = (x * x) % (2n ** 2000n);',
    'let s = ""; for (;;) s = (s + "x").slice(-10);',
    '"x".replace(/x/, () => { for (;;); })',
    '/^(a+)+$/.test("a".repeat(40) + "b")',
    '/(x+x+)+y/.test("x".repeat(40))',
    '"a".repeat(40).concat("b").match(/^(a|a)*$/)',
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
    'const f = () => Promise.resolve().then(f); f()',
    '(async () => { for (;;) await 0 })()',
    '(async () => { for (;;) await { then(go) { go() } } })()',
    'Promise.resolve().then(() => { for (;;); })',
    `new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([${wasm}]))).exports.f()`,
  ];
  for (const guest of guests) {
    test(guest.replace(wasm, '…'), () => passes(`
      const code = ${JSON.stringify(guest)};
      for (const call of [() => context.evalSync('{' + code + '}', { timeout: 50 }), () => context.eval('{' + code + '}', { timeout: 50 })]) {
        const start = ms();
        await assert.rejects(async () => call(), ${TIMEOUT});
        const took = ms() - start;
        assert.ok(took >= 49 && took < 2000, took + ' ms');
        assert.equal(context.evalSync('6 * 7'), 42);
      }
      otherWorks();
      isolate.dispose();`));
  }

  test('a script, a closure, a function, a getter, a setter\'s value', () => passes(`
    const script = isolate.compileScriptSync('for (;;);');
    assert.throws(() => script.runSync(context, { timeout: 30 }), ${TIMEOUT});
    await assert.rejects(script.run(context, { timeout: 30 }), ${TIMEOUT});
    assert.throws(() => context.evalClosureSync('for (;;);', [], { timeout: 30 }), ${TIMEOUT});
    await assert.rejects(context.evalClosure('for (;;);', [], { timeout: 30 }), ${TIMEOUT});
    const loop = context.evalSync('(function () { for (;;); })', { reference: true });
    assert.throws(() => loop.applySync(undefined, [], { timeout: 30 }), ${TIMEOUT});
    await assert.rejects(loop.apply(undefined, [], { timeout: 30 }), ${TIMEOUT});
    loop.applyIgnored(undefined, [], { timeout: 30 });
    assert.equal(await context.eval('2'), 2);
    assert.throws(() => context.evalClosureSync('return { get a() { for (;;); } }', [], { timeout: 30, result: { copy: true } }), ${TIMEOUT});
    assert.equal(context.evalSync('3'), 3);`));

  test('the stack names what was running', () => passes(`
    const error = syncError(() => context.evalSync('function busy() { for (;;); } busy()', { timeout: 30, filename: 'busy.js' }));
    assert.match(error.stack, /busy/);`));
});

describe('timeout', () => {
  test('is paused while the guest waits for a callback', () => passes(`
    context.global.setSync('wait', () => { block(300); return 1; });
    assert.equal(context.evalSync('wait() + 1', { timeout: 50 }), 2);
    assert.equal(await context.eval('wait() + 1', { timeout: 50 }), 2);
    context.global.setSync('later', new ivm.Reference(async () => { await sleep(300); return 5; }));
    assert.equal(await context.eval('later.applySyncPromise(undefined, [])', { timeout: 50 }), 5);`));

  test('continues after a callback', () => passes(`
    context.global.setSync('wait', () => block(100));
    for (const call of [() => context.evalSync('wait(); for (;;);', { timeout: 50 }), () => context.eval('wait(); for (;;);', { timeout: 50 })]) {
      const start = ms();
      await assert.rejects(async () => call(), ${TIMEOUT});
      assert.ok(ms() - start >= 145 && ms() - start < 800, String(ms() - start));
      assert.equal(context.evalSync('1'), 1);
    }`));

  test('counts the time between many callbacks', () => passes(`
    context.global.setSync('call', () => 1);
    const start = ms();
    assert.throws(() => context.evalSync('for (;;) call()', { timeout: 60 }), ${TIMEOUT});
    assert.ok(ms() - start < 10_000);
    assert.equal(context.evalSync('call()'), 1);`));

  test('inner and outer: the inner one ends the inner call only', () => passes(`
    context.global.setSync('inner', () => {
      const error = syncError(() => context.evalSync('for (;;);', { timeout: 50 }));
      assert.equal(error.code, 'ERR_ISOLATE_TIMEOUT');
      return 'caught';
    });
    assert.equal(context.evalSync('inner() + "!"', { timeout: 5000 }), 'caught!');
    assert.equal(context.evalSync('inner() + inner()', { timeout: 5000 }), 'caughtcaught');
    assert.equal(await context.eval('inner() + "!"', { timeout: 5000 }), 'caught!');
    assert.equal(context.evalSync('1'), 1);`));

  test('inner and outer: an uncaught inner error propagates', () => passes(`
    context.global.setSync('inner', () => context.evalSync('for (;;);', { timeout: 50 }));
    const value = context.evalSync('try { inner() } catch (error) { error.message }', { timeout: 5000 });
    assert.equal(value, 'Script execution timed out.');
    assert.throws(() => context.evalSync('inner()', { timeout: 5000 }), { message: 'Script execution timed out.' });
    assert.equal(context.evalSync('1'), 1);`));

  test('inner and outer: the outer one stops the inner call, too', () => passes(`
    let seen;
    context.global.setSync('inner', () => {
      seen = syncError(() => context.evalSync('for (;;);', { timeout: 5000 }));
      return 'never seen';
    });
    const start = ms();
    assert.throws(() => context.evalSync('inner(); after = 1', { deadline: 80 }), ${DEADLINE});
    assert.ok(ms() - start < 800, String(ms() - start));
    assert.match(seen.code, /^ERR_ISOLATE_(TIMEOUT|DEADLINE)$/);
    assert.equal(context.evalSync('typeof after'), 'undefined');`));

  test('inner and outer: both expired', () => passes(`
    context.global.setSync('inner', () => {
      const error = syncError(() => context.evalSync('for (;;);', { timeout: 50 }));
      assert.equal(error.code, 'ERR_ISOLATE_TIMEOUT');
      block(150);
      return 'too late';
    });
    assert.throws(() => context.evalSync('inner(); after = 1', { deadline: 120 }), ${DEADLINE});
    assert.equal(context.evalSync('typeof after'), 'undefined');`));

  test('host, guest, host, guest, host: the innermost wait does not count', () => passes(`
    context.global.setSync('wait', () => { block(300); return 1; });
    context.global.setSync('inner', () => context.evalSync('wait()', { timeout: 50 }));
    assert.equal(context.evalSync('inner()', { timeout: 5000 }), 1);
    assert.equal(context.evalSync('inner()', { timeout: 50 }), 1);
    assert.equal(await context.eval('inner()', { timeout: 50 }), 1);`));

  test('three levels with limits of their own, in one isolate', () => passes(`
    context.global.setSync('third', () => syncError(() => context.evalSync('for (;;);', { timeout: 40 })).code);
    context.global.setSync('second', () => context.evalSync('third() + "/" + third()', { timeout: 2000 }));
    assert.equal(context.evalSync('second()', { timeout: 5000 }), 'ERR_ISOLATE_TIMEOUT/ERR_ISOLATE_TIMEOUT');
    assert.equal(context.evalSync('1'), 1);`));

  test('through two isolates', () => passes(`
    const other = new ivm.Isolate().createContextSync();
    context.global.setSync('call', () => other.evalSync('for (;;);', { timeout: 50 }));
    assert.equal(context.evalSync('try { call() } catch (error) { error.message }', { timeout: 5000 }), 'Script execution timed out.');
    assert.equal(other.evalSync('1'), 1);
    const start = ms();
    context.global.setSync('forever', () => other.evalSync('for (;;);', { timeout: 1000 }));
    assert.throws(() => context.evalSync('forever()', { deadline: 60 }), ${DEADLINE});
    assert.equal(other.evalSync('2') + context.evalSync('2'), 4);`));
});

describe('deadline', () => {
  test('stops running code', () => passes(`
    for (const call of [() => context.evalSync('for (;;);', { deadline: 50 }), () => context.eval('for (;;);', { deadline: 50 })]) {
      const start = ms();
      await assert.rejects(async () => call(), ${DEADLINE});
      assert.ok(ms() - start >= 49 && ms() - start < 700, String(ms() - start));
      assert.equal(context.evalSync('1'), 1);
    }
    assert.equal(context.evalSync('1', { deadline: 5000 }), 1);`));

  test('covers waiting for the host', () => passes(`
    let finished = 0;
    context.global.setSync('done', () => { finished += 1; });
    context.global.setSync('wait', () => block(200));
    assert.throws(() => context.evalSync('wait(); done()', { deadline: 50 }), ${DEADLINE});
    await assert.rejects(context.eval('wait(); done()', { deadline: 50 }), ${DEADLINE});
    context.global.setSync('never', new ivm.Reference(() => new Promise(() => {})));
    const start = ms();
    await assert.rejects(context.eval('never.applySyncPromise(undefined, []); done()', { deadline: 50 }), ${DEADLINE});
    assert.ok(ms() - start < 700, String(ms() - start));
    assert.equal(context.evalSync('1'), 1);
    assert.equal(finished, 0);`));

  test('no guest code runs once it has ended a wait', () => passes(`
    let calls = 0;
    context.global.setSync('mark', () => { calls += 1; });
    context.global.setSync('never', new ivm.Reference(() => new Promise(() => {})));
    context.global.setSync('wait', () => block(100));
    await assert.rejects(context.eval('try { never.applySyncPromise(undefined, []) } finally { mark() }', { deadline: 50 }), ${DEADLINE});
    await assert.rejects(context.eval('try { wait() } finally { mark() }', { deadline: 50 }), ${DEADLINE});
    assert.throws(() => context.evalSync('try { wait() } finally { mark() }', { deadline: 50 }), ${DEADLINE});
    assert.equal(context.evalSync('1'), 1);
    assert.equal(await context.eval('2'), 2);
    assert.equal(calls, 0);`));

  test('the tighter of the two limits ends the call', () => passes(`
    assert.throws(() => context.evalSync('for (;;);', { deadline: 2000, timeout: 40 }), ${TIMEOUT});
    assert.throws(() => context.evalSync('for (;;);', { deadline: 40, timeout: 2000 }), ${DEADLINE});
    assert.equal(context.evalSync('1', { deadline: 2000, timeout: 2000 }), 1);`));
});

test('reactions of a guest to a promise of the host have the limits of that call', () => passes(`
  const then = (code) => context.evalSync('Object.defineProperty(Object.prototype, "then", { configurable: true, get() { ' + code + ' } })');
  const options = { arguments: { copy: true, promise: true } };
  then('for (;;);');
  assert.throws(() => context.evalClosureSync('return 1', [{}], { ...options, timeout: 40 }), ${TIMEOUT});
  await assert.rejects(context.evalClosure('return 1', [{}], { ...options, deadline: 40 }), ${DEADLINE});
  then('throw new RangeError("then")');
  const refused = { name: 'RangeError', message: 'then' };
  assert.throws(() => context.evalClosureSync('return 1', [{}], options), refused);
  await assert.rejects(context.evalClosure('return $0', [{}], { ...options, result: { promise: true } }), refused);
  then('return undefined');
  assert.equal(context.evalClosureSync('return 1', [{}], options), 1);
  context.global.setSync('dispose', () => { isolate.dispose(); });
  then('dispose()');
  assert.throws(() => context.evalClosureSync('return 1', [{}], options), { code: 'ERR_ISOLATE_DISPOSED' });`));
