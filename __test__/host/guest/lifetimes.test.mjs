// How objects in one isolate are kept alive by handles in others, and end with them.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const SETUP = `
  const collect = () => gc();
  const withIvm = (options) => {
    const isolate = new ivm.Isolate(options);
    const context = isolate.createContextSync();
    for (const [name, value] of Object.entries({ ivm, isolate, context })) context.global.setSync(name, value);
    return { isolate, context };
  };
  /** Two guests that have each other's isolate and context. */
  const pair = () => {
    const [one, two] = [withIvm(), withIvm()];
    for (const [here, there] of [[one, two], [two, one]]) {
      here.context.global.setSync('otherIsolate', there.isolate);
      here.context.global.setSync('other', there.context);
    }
    return [one, two];
  };
  const end = (...all) => { for (const { isolate } of all) if (!isolate.isDisposed) isolate.dispose(); };
  const outcomeOf = (call) => { try { return call(); } catch (error) { return error.code + ' ' + error.message; } };
  const DISPOSED = 'ERR_ISOLATE_DISPOSED Isolate was disposed during execution';
  /** Makes a guest collect its garbage, and drop compiled code. */
  const churn = ({ context }) => context.eval('for (let i = 0; i < 40; i += 1) new Array(1e5).fill(i); globalThis.big = []; for (let i = 0; i < 2e5; i += 1) big.push({ i }); big = undefined; 1');
  const until = async (check) => {
    for (let turn = 0; turn < 400; turn += 1) {
      collect();
      if (await check()) return;
      await sleep(5);
    }
    assert.fail('it never came to that');
  };
`.replaceAll(/\n\s*/g, '\n');

const check = (code, settings) => passes(SETUP + code, { timeout: 60_000, collects: true, ...settings });

describe('an unreachable handle of a guest', () => {
  test('is released in the host', () => check(`
    const guest = withIvm({ memoryLimit: 32 });
    let gone = 0;
    const registry = new FinalizationRegistry(() => { gone += 1; });
    (() => {
      for (let n = 0; n < 10; n += 1) {
        const values = { f: () => n, value: { n } };
        registry.register(values.f);
        registry.register(values.value);
        guest.context.evalClosureSync('$0(); $1.getSync("n"); 1', [values.f, new ivm.Reference(values.value)]);
      }
    })();
    // A stack scan may keep one.
    await until(async () => { await churn(guest); return gone >= 18; });
    end(guest);
  `));

  test('is released in other isolates', () => check(`
    const [one, two] = pair();
    await churn(two);
    const before = two.isolate.referenceCount;
    one.context.evalSync('globalThis.kept = []; for (let n = 0; n < 100; n += 1) kept.push(other.evalSync("({})", { reference: true }), other.evalSync("() => 1")); 1');
    assert.ok(two.isolate.referenceCount >= before + 200);
    one.context.evalSync('kept = undefined; 1');
    await until(async () => { await churn(one); await two.context.eval('1'); return two.isolate.referenceCount <= before; });
    end(one, two);
  `));

  test('is released at once if it is released explicitly', () => check(`
    const [one, two] = pair();
    const before = two.isolate.referenceCount;
    one.context.evalSync('for (let n = 0; n < 100; n += 1) { const it = other.evalSync("({})", { reference: true }); it.release(); } 1');
    assert.equal(two.isolate.referenceCount, before);
    end(one, two);
  `));

  test('frees the slots of isolates that it has created', () => check(`
    const guest = withIvm({ memoryLimit: 64 });
    guest.context.evalSync('globalThis.kept = []; for (let n = 0; n < 16; n += 1) kept.push(new ivm.Isolate({ memoryLimit: 8 })); 1');
    assert.match(outcomeOf(() => guest.context.evalSync('new ivm.Isolate({ memoryLimit: 8 })')), /The isolates that guests have made are 16/);
    guest.context.evalSync('kept = undefined; 1');
    await until(async () => { await churn(guest); return outcomeOf(() => guest.context.evalSync('new ivm.Isolate({ memoryLimit: 8 }).dispose()')) === undefined; });
    end(guest);
  `));
});

describe('a disposed isolate', () => {
  test('releases its references, and its handles throw', () => check(`
    const [one, two] = pair();
    let gone = false;
    const registry = new FinalizationRegistry(() => { gone = true; });
    (() => {
      const f = () => 1;
      registry.register(f);
      one.context.global.setSync('f', f);
    })();
    const before = two.isolate.referenceCount;
    one.context.evalSync('globalThis.kept = other.evalSync("({ n: 1 })", { reference: true }); 1');
    two.context.evalSync('globalThis.kept = other.evalSync("({ n: 1 })", { reference: true }); globalThis.f = other.evalSync("() => 1"); 1');
    one.isolate.dispose();
    await until(async () => { await two.context.eval('1'); return gone && two.isolate.referenceCount <= before; });
    const tries = ['kept.getSync("n")', 'kept.copySync()', 'f()', 'other.evalSync("1")', 'otherIsolate.createContextSync()', 'otherIsolate.dispose()'];
    for (const code of tries) assert.equal(two.context.evalSync(\`try { \${code}; } catch (error) { error.code }\`), 'ERR_ISOLATE_DISPOSED', code);
    // Objects that need no isolate work.
    assert.equal(two.context.evalSync('kept.release(); other.release()'), true);
    end(two);
  `));

  test('breaks cycles with other isolates', () => check(`
    let gone = 0;
    const registry = new FinalizationRegistry(() => { gone += 1; });
    const MANY = 20;
    for (let n = 0; n < MANY; n += 1) {
      const [one, two] = pair();
      registry.register(one.isolate);
      registry.register(two.isolate);
      (n % 2 === 0 ? one : two).isolate.dispose();
    }
    await until(() => gone >= 2 * MANY - 2);
  `));

  test('disposes itself, in any call', () => check(`
    for (const code of ['isolate.dispose(); 1', 'try { isolate.dispose(); } finally { for (;;); }', 'new ivm.ExternalCopy({ get a() { isolate.dispose(); } })', 'context.evalSync("isolate.dispose()")']) {
      const [one, two] = pair();
      assert.equal(outcomeOf(() => one.context.evalSync(code)), DISPOSED, code);
      assert.equal(outcomeOf(() => one.isolate.dispose()), 'ERR_ISOLATE_DISPOSED Isolate is already disposed');
      assert.equal(two.context.evalSync('otherIsolate.isDisposed'), true);
      end(two);
      const [third, fourth] = pair();
      assert.equal((await errorOf(() => third.context.eval(code))).message, 'Isolate was disposed during execution', code);
      end(third, fourth);
    }
  `));

  test('is disposed by the guest that it calls', () => check(`
    const [one, two] = pair();
    assert.equal(outcomeOf(() => one.context.evalSync('other.evalSync("otherIsolate.dispose(); 5")')), DISPOSED);
    assert.equal(two.context.evalSync('6 * 7'), 42);
    end(two);
    // The reverse: the call that should return from there does not.
    const [third, fourth] = pair();
    assert.equal(third.context.evalSync('let seen; try { other.evalSync("other.evalSync(\\'otherIsolate.dispose(); 7\\')"); } catch (error) { seen = error.code; } seen'), 'ERR_ISOLATE_DISPOSED');
    assert.deepEqual([third.isolate.isDisposed, fourth.isolate.isDisposed], [false, true]);
    end(third);
    // While a value is copied out of it.
    const [fifth, sixth] = pair();
    assert.equal(fifth.context.evalSync('let seen; try { other.evalSync("({ get a() { isolate.dispose(); return 1; } })", { copy: true }); } catch (error) { seen = error.code; } seen'), 'ERR_ISOLATE_DISPOSED');
    end(fifth);
  `));

  for (const [how, start] of Object.entries({
    'while it runs': 'for (;;);',
    'while it waits for memory': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
    'while it waits for a promise of the host': 'never.applySyncPromise()',
    'while it waits for another isolate': 'other.eval("for (;;);")',
  })) {
    test(`is disposed by another guest, ${how}, twice`, () => check(`
      const [one, two] = pair();
      one.context.global.setSync('never', new ivm.Reference(() => new Promise(() => {})));
      let started;
      const running = new Promise((resolve) => { started = resolve; });
      one.context.global.setSync('started', new ivm.Callback(started, { ignored: true }));
      const result = one.context.eval(${JSON.stringify(`started(); ${start}`)}, { promise: true }).catch((error) => error.code + ' ' + error.message);
      await running;
      await sleep(5);
      const third = withIvm();
      third.context.global.setSync('target', one.isolate);
      assert.equal(third.context.evalSync('target.dispose(); try { target.dispose(); } catch (error) { error.message }'), 'Isolate is already disposed');
      assert.match(await result, /^ERR_ISOLATE_DISPOSED Isolate was disposed during execution$|Promise was abandoned$/);
      end(two, third);
    `));
  }

  test('is disposed by an isolate that it has created, while these run', () => check(`
    const guest = withIvm();
    guest.context.evalSync('globalThis.made = new ivm.Isolate({ memoryLimit: 8 }); globalThis.room = made.createContextSync(); room.global.setSync("maker", isolate); 1');
    const [made, room] = [guest.context.evalSync('made'), guest.context.evalSync('room')];
    const busy = guest.context.evalSync('new ivm.Isolate({ memoryLimit: 8 })');
    const running = (await busy.createContext()).eval('for (;;);').catch((error) => error.code);
    assert.equal(outcomeOf(() => guest.context.evalSync('room.evalSync("maker.dispose(); 9")')), DISPOSED);
    assert.equal(guest.isolate.isDisposed, true);
    // The call may return before the isolates that the guest has made are disposed.
    await until(() => made.isDisposed && busy.isDisposed);
    assert.equal(await running, 'ERR_ISOLATE_DISPOSED');
    assert.equal(outcomeOf(() => room.evalSync('1')), 'ERR_ISOLATE_DISPOSED Isolated is disposed');
  `));

  test('is disposed during races', () => check(`
    for (let n = 0; n < 200; n += 1) {
      const [one, two] = pair();
      const code = 'other.evalIgnored("1"); for (let i = 0; i < 20; i += 1) isolate.cpuTime; otherIsolate.dispose()';
      const results = [one, two].map(({ context }) => context.eval(code).catch((error) => error));
      if (n % 3 === 0) outcomeOf(() => one.isolate.dispose());
      for (const result of await Promise.all(results)) {
        if (result !== undefined) assert.match(result.message, /^Isolated? (is|was) (already )?disposed/);
      }
      end(one, two);
    }
  `));
});
