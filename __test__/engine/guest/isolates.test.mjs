// Isolates that guests make: the same class, under the limits of the guest that has made the first of them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.mjs';

/** An isolate with `ivm` in its one context, and a function that disposes it. */
function withIvm(options) {
  const isolate = new ivm.Isolate(options);
  const context = isolate.createContextSync();
  context.global.setSync('ivm', ivm);
  context.global.setSync('isolate', isolate);
  context.global.setSync('context', context);
  return { isolate, context };
}

/** Runs the body of a function in a guest that has `ivm`, `isolate` and `context`. */
function inGuest(code, options) {
  const { isolate, context } = withIvm(options);
  try {
    return context.evalClosureSync(code, [], { result: { copy: true } });
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

const ERROR_OF = 'const errorOf = (call) => { try { call(); return "nothing"; } catch (error) { return error.name + " " + error.code + ": " + error.message; } };';

describe('a guest', () => {
  test('creates nested isolates, and calls through all of them', () => {
    assert.equal(inGuest(`
      let room = context;
      for (let depth = 0; depth < 4; depth += 1) {
        const next = new ivm.Isolate({ memoryLimit: 16 }).createContextSync();
        next.global.setSync('outer', room);
        next.global.setSync('ivm', ivm);
        room = next;
      }
      return room.evalSync('outer.evalSync("outer.evalSync(\\'outer.evalSync(String(6 * 7))\\')")');
    `), 42);
  });

  test('passes its isolate to the host and to other guests', () => {
    const { isolate, context } = withIvm();
    const made = context.evalSync('globalThis.made = new ivm.Isolate()');
    assert.ok(made instanceof ivm.Isolate);
    const room = made.createContextSync();
    room.global.setSync('isolate', isolate);
    const other = withIvm();
    other.context.global.setSync('room', room);
    assert.equal(other.context.evalSync('room.evalSync("6 * 7")'), 42);
    assert.equal(room.evalSync('isolate.isDisposed'), false);
    made.dispose();
    assert.equal(context.evalSync('made.isDisposed'), true);
    isolate.dispose();
    other.isolate.dispose();
  });

  test('disposes its own isolate', async () => {
    const { isolate, context } = withIvm();
    context.global.setSync('after', new ivm.Callback(() => { after += 1; }, { ignored: true }));
    let after = 0;
    assert.throws(() => context.evalSync('isolate.dispose(); after(); 1'), { code: 'ERR_ISOLATE_DISPOSED', message: 'Isolate was disposed during execution' });
    assert.equal(isolate.isDisposed, true);
    const second = withIvm();
    await assert.rejects(second.context.eval('Promise.resolve().then(() => { isolate.dispose(); after(); }); 1'), { code: 'ERR_ISOLATE_DISPOSED' });
    assert.equal(after, 0);
  });
});

describe('limits', () => {
  test('of number and memory', () => {
    assert.deepEqual(inGuest(`
      ${ERROR_OF}
      const made = [];
      const refused = errorOf(() => { for (;;) made.push(new ivm.Isolate({ memoryLimit: 8 })); });
      const count = made.length;
      made[0].dispose();
      // Isolates that are being disposed are awaited.
      const again = errorOf(() => { made[0] = new ivm.Isolate({ memoryLimit: 8 }); });
      made[1].createContextSync().evalClosureSync('globalThis.ivm = $0; globalThis.errorOf = $1', [ivm, (call) => 0]);
      const inner = made[1].createContextSync().evalClosureSync('try { new $0.Isolate(); } catch (error) { return error.code; }', [ivm]);
      for (const each of made) each.dispose();
      return [
        refused.slice(0, 28), count, again, inner,
        errorOf(() => new ivm.Isolate({ memoryLimit: 65 })), errorOf(() => { for (let i = 0; i < 5; i += 1) made[i] = new ivm.Isolate(); }).slice(0, 28), made[3].isDisposed,
      ];
    `, { memoryLimit: 64 }), [
      'RangeError ERR_ISOLATE_LIMIT', 16, 'nothing', 'ERR_ISOLATE_LIMIT',
      'RangeError ERR_ISOLATE_LIMIT: `memoryLimit` must not be more than that of the isolate it is made in', 'RangeError ERR_ISOLATE_LIMIT', false,
    ]);
  });

  test('do not change with use', () => {
    assert.equal(inGuest('let n = 0; for (; n < 60; n += 1) { const made = new ivm.Isolate(); if (n % 3 === 0) made.createContextSync().evalSync("1"); made.dispose(); } return n;'), 60);
  });

  test('without one, an isolate gets no more than its creator', () => {
    assert.equal(inGuest('return new ivm.Isolate().createContextSync() && new ivm.Isolate({}).getHeapStatisticsSync().heap_size_limit', { memoryLimit: 12 }), 12 << 20);
  });

  test('the timeout of a call ends what it waits for in another isolate', () => {
    const { isolate, context } = withIvm();
    context.evalSync('globalThis.made = new ivm.Isolate(); globalThis.room = made.createContextSync()');
    assert.throws(() => context.evalSync('room.evalSync("for (;;);")', { timeout: 50 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    assert.throws(() => context.evalSync('room.evalSync("for (;;);", { timeout: 100000 })', { timeout: 50 }), { code: 'ERR_ISOLATE_TIMEOUT' });
    assert.throws(() => context.evalSync('room.evalSync("for (;;);")', { deadline: 50 }), { code: 'ERR_ISOLATE_DEADLINE' });
    // It is free again.
    assert.equal(context.evalSync('room.evalSync("6 * 7")', { timeout: 5_000 }), 42);
    isolate.dispose();
  });

  test('and work that it left running there', () => {
    const { isolate, context } = withIvm();
    context.evalSync('globalThis.room = new ivm.Isolate().createContextSync(); room.evalIgnored("for (;;);")', { timeout: 200 });
    // Starts when that is over.
    assert.equal(context.evalSync('room.evalSync("6 * 7")', { timeout: 5_000 }), 42);
    isolate.dispose();
  });

  test('an isolate ends with its creator', async () => {
    const { isolate, context } = withIvm();
    const made = context.evalSync('new ivm.Isolate()');
    const inner = made.createContextSync().evalClosureSync('return new $0.Isolate()', [ivm]);
    const room = inner.createContextSync();
    const running = room.eval('for (;;);');
    const lost = assert.rejects(running, { code: 'ERR_ISOLATE_DISPOSED' });
    isolate.dispose();
    await lost;
    assert.deepEqual([made.isDisposed, inner.isDisposed], [true, true]);
    assert.throws(() => room.evalSync('1'), { code: 'ERR_ISOLATE_DISPOSED' });
  });

  test('errors inside do not reach the creator', () => {
    assert.deepEqual(inGuest(`
      const made = new ivm.Isolate({ memoryLimit: 8 });
      const room = made.createContextSync();
      let code;
      try { room.evalSync('const kept = []; for (;;) kept.push({})'); } catch (error) { code = error.code; }
      return [code, made.isDisposed, context.evalSync('1')];
    `, { memoryLimit: 32 }), ['ERR_ISOLATE_MEMORY', true, 1]);
  });
});

test('compilation caches of guests are not trusted', () => {
  const { isolate, context } = withIvm();
  const produced = isolate.compileScriptSync('1 + 1', { produceCachedData: true });
  context.global.setSync('cache', produced.cachedData);
  assert.equal(context.evalSync('const script = isolate.compileScriptSync("1 + 1", { cachedData: cache }); script.cachedDataRejected && script.runSync(context) === 2'), true);
  assert.equal(isolate.compileScriptSync('1 + 1', { cachedData: produced.cachedData }).cachedDataRejected, false);
  isolate.dispose();
});
