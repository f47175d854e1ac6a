// The memory limit, and guests that cannot be stopped: the isolate is lost, the host and other isolates keep working.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const MEMORY = "{ name: 'Error', code: 'ERR_ISOLATE_MEMORY', message: 'Isolate was disposed during execution due to memory limit' }";
/** Milliseconds: the grace period at its longest, when threads get no processor, and a margin. */
const GRACE = 4_000 + 250;

describe('memory limit', () => {
  for (const limit of [8, 64]) {
    test(`a push loop at ${limit} MB`, () => passes(`
      otherWorks();
      const before = process.memoryUsage.rss();
      let ticks = 0;
      const interval = setInterval(() => { ticks += 1; }, 1);
      assert.throws(() => context.evalSync('const kept = []; for (;;) kept.push({ a: Math.random() });'), ${MEMORY});
      assert.equal(isolate.isDisposed, true);
      otherWorks();
      const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
      assert.ok(grown < ${limit} * 2 + 150, grown + ' MB more');
      const second = new ivm.Isolate({ memoryLimit: ${limit} });
      const next = await second.createContext();
      ticks = 0;
      await assert.rejects(next.eval('const kept = []; for (;;) kept.push({ a: Math.random() });'), ${MEMORY});
      clearInterval(interval);
      assert.ok(ticks > 0, 'the event loop stood still');
      assert.equal(second.isDisposed, true);
      otherWorks();`, { options: `{ memoryLimit: ${limit} }` }));
  }

  test('an ArrayBuffer over the limit is a RangeError, and the isolate stays usable', () => passes(`
    const code = (size) => 'try { new ArrayBuffer(' + size + '); "made" } catch (error) { error.name + ": " + error.message }';
    for (const size of [17 * 2 ** 20, 2 ** 30, 2 ** 32]) {
      assert.equal(context.evalSync(code(size)), 'RangeError: Array buffer allocation failed');
      assert.equal(await context.eval(code(size)), 'RangeError: Array buffer allocation failed');
    }
    assert.equal(context.evalSync(code(2 ** 20)), 'made');
    assert.throws(() => context.evalSync('new Uint8Array(1e9)'), { name: 'RangeError', message: 'Array buffer allocation failed' });
    assert.equal(isolate.isDisposed, false);
    assert.equal(context.evalSync('6 * 7'), 42);`, { options: '{ memoryLimit: 16 }' }));

  test('a loop of buffers is a RangeError, and the isolate stays usable', () => passes(`
    const code = 'globalThis.kept = []; try { for (;;) kept.push(new Uint8Array(2 * 1024 * 1024).fill(1)) } catch (error) { error.name + ": " + error.message }';
    for (let i = 0; i < 5; i += 1) {
      assert.equal(context.evalSync(code), 'RangeError: Array buffer allocation failed');
      const count = context.evalSync('const n = kept.length; kept = undefined; n'.replace('const n', 'var n'));
      assert.ok(count >= 4 && count <= 32, String(count));
      assert.equal(isolate.isDisposed, false);
    }`, { options: '{ memoryLimit: 32 }' }));

  test('released buffers can be allocated again', () => passes(`
    context.evalSync('for (let i = 0; i < 100; i += 1) new Uint8Array(4 * 1024 * 1024).fill(1)');
    assert.equal(isolate.isDisposed, false);`, { options: '{ memoryLimit: 32 }' }));

  test('at 8 MB many times, while the host answers', () => passes(`
    for (let i = 0; i < 30; i += 1) {
      const small = new ivm.Isolate({ memoryLimit: 8 });
      const within = await small.createContext();
      const pending = errorOf(() => within.eval('const kept = []; for (;;) kept.push(new Array(1000).fill(1.5))'));
      assert.equal(context.evalSync('1'), 1);
      assert.equal((await pending).code, 'ERR_ISOLATE_MEMORY');
    }`, { timeout: 60_000 }));

  // A collection in steps keeps what was allocated since it began.
  test('large objects that are garbage soon', () => passes(`
    const code = 'let kept; for (;;) { kept = []; for (let i = 0; i < 6; i += 1) kept.push(new Array(1e5).fill(i)); }';
    for (let i = 0; i < 3; i += 1) {
      const busy = new ivm.Isolate({ memoryLimit: 32 });
      assert.throws(() => busy.createContextSync().evalSync(code, { timeout: 2_000 }), { code: 'ERR_ISOLATE_TIMEOUT' });
      busy.dispose();
    }`, { timeout: 60_000 }));

  test('a pending callback when memory is exhausted', () => passes(`
    context.global.setSync('call', () => 1);
    assert.throws(() => context.evalSync('const kept = []; for (;;) { call(); kept.push(new Array(1000).fill(1.5)) }'), ${MEMORY});
    assert.throws(() => context.evalSync('1'), { code: 'ERR_ISOLATE_MEMORY' });
    otherWorks();`, { options: '{ memoryLimit: 16 }' }));
});

describe('a guest that calls endlessly', () => {
  for (const [what, make] of [
    ['ignored callbacks', "new ivm.Callback((x) => x.length, { ignored: true })"],
    ['async callbacks', "new ivm.Callback(async (x) => x.length, { async: true })"],
  ]) {
    test(`${what} starve neither the event loop nor memory`, () => passes(`
      context.global.setSync('call', ${make});
      const before = process.memoryUsage.rss();
      let peak = 0;
      let ticks = 0;
      const interval = setInterval(() => { ticks += 1; peak = Math.max(peak, process.memoryUsage.rss() - before); }, 10);
      const start = ms();
      const code = 'let refused; for (;;) try { call("x".repeat(100)) } catch (error) { refused ??= error.code; if (error.code !== refused) throw error }';
      const error = await errorOf(() => context.eval(code, { timeout: 500 }));
      const refused = await context.eval('refused');
      // Answers arrive as tasks, which this guest never reaches. Beyond some number its calls are refused.
      assert.ok(refused === undefined || refused === 'ERR_ISOLATE_LIMIT', refused);
      clearInterval(interval);
      const took = ms() - start;
      // The host still handles what it has received.
      assert.ok(took < 500 + 3 * ${GRACE}, took + ' ms');
      assert.equal(error.code, 'ERR_ISOLATE_TIMEOUT', error.stack);
      assert.ok(ticks >= 5, ticks + ' ticks');
      assert.ok(peak < 300 * 2 ** 20, Math.round(peak / 2 ** 20) + ' MB more');
      otherWorks();`, { options: '{ memoryLimit: 64 }', timeout: 40_000 }));
  }
});

describe('the limit is noticed', () => {
  const LARGE = "globalThis.text = 'x'.repeat(2 ** 27); /z/.test(text); text.length";
  const GONE = "{ code: 'ERR_ISOLATE_MEMORY', message: 'Isolate was disposed during execution due to memory limit' }";

  test('when one string is larger than it', () => passes(`
    assert.throws(() => context.evalSync(${JSON.stringify(LARGE)}), ${GONE});
    assert.equal(isolate.isDisposed, true);
    const other = new ivm.Isolate({ memoryLimit: 8 });
    await assert.rejects((await other.createContext()).eval(${JSON.stringify(LARGE)}), ${GONE});`, { options: '{ memoryLimit: 8 }' }));

  test('when a host passes such a string', () => passes(`
    assert.throws(() => context.evalClosureSync('globalThis.text = $0; 0', ['y'.repeat(2 ** 26)]), ${GONE});`, { options: '{ memoryLimit: 8 }' }));

  test('when a guest waits with it', () => passes(`
    let waited;
    context.global.setSync('wait', () => { waited = isolate.isDisposed; block(500); });
    assert.throws(() => context.evalSync(${JSON.stringify(LARGE)} + '; wait(); 0'), ${GONE});`, { options: '{ memoryLimit: 8 }' }));
});

describe('a guest that cannot be stopped', () => {
  const options = "{ onCatastrophicError: (message) => { globalThis.catastrophe?.(message); } }";
  const UNRESPONSIVE = "{ name: 'Error', code: 'ERR_ISOLATE_UNRESPONSIVE' }";

  for (const [guest, modes] of [['Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', ['evalSync', 'eval']], ['Array.prototype.reverse.call({ length: 2 ** 53 - 1 })', ['eval']]]) {
    for (const mode of modes) {
      test(`${mode}: ${guest}`, () => passes(`
        const catastrophe = new Promise((resolve) => { globalThis.catastrophe = resolve; });
        const other = new ivm.Isolate().createContextSync();
        const code = ${JSON.stringify(guest)};
        const start = ms();
        let ticks = 0;
        const interval = setInterval(() => { ticks += 1; assert.equal(other.evalSync('1'), 1); }, 20);
        await assert.rejects(async () => context.${mode}(code, { timeout: 100 }), ${UNRESPONSIVE});
        const took = ms() - start;
        clearInterval(interval);
        assert.ok(took >= 100 && took < 100 + ${GRACE}, took + ' ms');
        if (${mode === 'eval'}) assert.ok(ticks > 10, ticks + ' ticks');
        assert.equal(other.evalSync('6 * 7'), 42);
        otherWorks();
        assert.equal(typeof await catastrophe, 'string');
        assert.equal(isolate.isDisposed, true);
        assert.throws(() => context.evalSync('1'), ${UNRESPONSIVE});
        await assert.rejects(context.eval('1'), ${UNRESPONSIVE});`, { options }));
    }
  }

  // At the end of the stack, V8 throws where it would otherwise check for a termination.
  test('a guest at the end of its stack is stopped or abandoned in time', () => passes(`
    for (const mode of ['evalSync', 'eval']) {
      const one = new ivm.Isolate().createContextSync();
      const start = ms();
      const error = await errorOf(() => one[mode]('(function f() { for (;;) { try { f() } catch {} } })()', { timeout: 100 }));
      assert.match(error.code, /^ERR_ISOLATE_(TIMEOUT|UNRESPONSIVE)$/);
      assert.ok(ms() - start < 100 + ${GRACE}, String(ms() - start));
      otherWorks();
    }`));

  test('calls queued behind it settle, too', () => passes(`
    ivm.configureEngine({ terminationGrace: 300 });
    context.global.setSync('started', new ivm.Callback(() => globalThis.go(), { ignored: true }));
    const started = new Promise((resolve) => { globalThis.go = resolve; });
    const first = errorOf(() => context.eval('started(); Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', { timeout: 50 }));
    await started;
    const second = errorOf(() => context.eval('1'));
    const third = syncError(() => context.evalSync('1'));
    assert.deepEqual([(await first).code, (await second).code, third.code], Array(3).fill('ERR_ISOLATE_UNRESPONSIVE'));`));

  test('dispose returns within the grace period', () => passes(`
    context.global.setSync('started', new ivm.Callback(() => globalThis.go(), { ignored: true }));
    const started = new Promise((resolve) => { globalThis.go = resolve; });
    const pending = errorOf(() => context.eval('started(); Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)'));
    await started;
    const start = ms();
    isolate.dispose();
    assert.ok(ms() - start < 100);
    assert.match((await pending).message, /Isolate was disposed during execution|given up/);
    assert.ok(ms() - start < ${GRACE}, String(ms() - start));
    otherWorks();`));

  test('a nested one ends the enclosing calls', () => passes(`
    ivm.configureEngine({ terminationGrace: 300 });
    context.global.setSync('inner', () => context.evalSync('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', { timeout: 50 }));
    const start = ms();
    assert.throws(() => context.evalSync('try { inner() } catch { 1 }'), ${UNRESPONSIVE});
    assert.ok(ms() - start < 50 + ${GRACE} + 100, String(ms() - start));
    otherWorks();`));
});
