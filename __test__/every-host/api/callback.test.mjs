// `Callback`, and functions that become callbacks when they are passed.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, withContext } from '../../api/ivm.mjs';

/** Runs code with a host function as the global `call`. */
function withCall(call, body) {
  return withContext((made) => {
    made.context.global.setSync('call', call);
    return body(made);
  });
}

test('options are checked', () => {
  assert.throws(() => new ivm.Callback(() => {}, 1), failure(TypeError, '`Callback` requires parameter 2 to be an object'));
  assert.throws(() => new ivm.Callback(() => {}, { async: 1 }), failure(TypeError, '`async` must be a boolean'));
  assert.throws(() => new ivm.Callback(() => {}, { ignored: 1 }), failure(TypeError, '`ignored` must be a boolean'));
  assert.ok(new ivm.Callback(() => {}, { sync: true, async: true, ignored: true }) instanceof ivm.Callback);
  assert.equal(new ivm.Reference(() => {}).typeof, 'function');
});

test('name and length are kept, and it cannot be constructed', () => withCall(function named(_a, _b) {}, ({ context }) => {
  assert.equal(context.evalSync('call.name + call.length'), 'named2');
  assert.equal(context.evalSync('"prototype" in call'), false);
  assert.throws(() => context.evalSync('new call()'), TypeError);
  context.global.setSync('made', new ivm.Callback(function other(_a, _b, _c) {}));
  assert.equal(context.evalSync('typeof made + made.name + made.length'), 'functionother3');
}));

test('`this` is undefined, arguments and result are copied', () => {
  let seen;
  return withCall(function (...args) {
    seen = [this, args];
    return { sum: args.length };
  }, ({ context }) => {
    assert.equal(context.evalSync('call.call(7, 1, "a", { x: [1] }, undefined, null, 5n, new Map([[1, 2]])).sum'), 7);
    assert.deepEqual(seen, [undefined, [1, 'a', { x: [1] }, undefined, null, 5n, new Map([[1, 2]])]]);
    assert.equal(Object.getPrototypeOf(seen[1][2]), Object.prototype);
    assert.equal(context.evalSync('call() instanceof Object'), true);
  });
});

test('arguments are read once, in their order', () => {
  let seen;
  return withCall((...args) => {
    seen = args;
    return args.map((arg) => typeof arg).join();
  }, ({ context }) => {
    context.global.setSync('reference', new ivm.Reference(1));
    context.evalSync(`
      let reads = '';
      const one = (name, value) => ({ get [name]() {
        reads += name;
        return typeof value === 'function' ? value() : value;
      } });
      const readsOf = (...args) => {
        reads = '';
        const types = call(...args);
        return reads + ' ' + types;
      };
    `);
    const objects = 'one("a", 1), one("b", [2, "c"])';
    const cases = {
      [`${objects}`]: ['ab object,object', [{ a: 1 }, { b: [2, 'c'] }]],
      [`1, ${objects}, "d", null`]: ['ab number,object,object,string,object', [1, { a: 1 }, { b: [2, 'c'] }, 'd', null]],
      [`${objects}, one("l", "x".repeat(5000))`]: ['abl object,object,object', [{ a: 1 }, { b: [2, 'c'] }, { l: 'x'.repeat(5000) }]],
      [`${objects}, ...Array(20).fill(7)`]: [`ab object,object${',number'.repeat(20)}`, [{ a: 1 }, { b: [2, 'c'] }, ...Array.from({ length: 20 }, () => 7)]],
      [`${objects}, one("r", /x+/g), 5n`]: ['abr object,object,object,bigint', [{ a: 1 }, { b: [2, 'c'] }, { r: /x+/g }, 5n]],
      [`one("n", () => call(one("m", 3))), ${objects}`]: ['nmab object,object,object', [{ n: 'object' }, { a: 1 }, { b: [2, 'c'] }]],
    };
    for (const [args, [expected, values]] of Object.entries(cases)) {
      assert.equal(context.evalSync(`readsOf(${args})`), expected, args);
      assert.deepEqual(seen, values, args);
    }
    assert.equal(context.evalSync(`readsOf(${objects}, one("h", reference), 4)`), 'abh object,object,object,number');
    assert.equal(seen[2].h.deref(), 1);
    seen = undefined;
    assert.throws(() => context.evalSync(`readsOf(${objects}, Symbol("s"))`), failure(TypeError, 'Symbol(s) could not be cloned.'));
    assert.throws(() => context.evalSync(`readsOf(${objects}, one("t", () => { throw new RangeError("t"); }))`), failure(RangeError, 't'));
    assert.equal(context.evalSync('reads'), 'abt');
    assert.equal(seen, undefined);
  });
});

test('functions cannot be arguments, and can be results', () => withCall(() => () => 9, ({ context }) => {
  assert.throws(() => context.evalSync('call(() => 1)'), failure(TypeError, '() => 1 could not be cloned.'));
  assert.throws(() => context.evalSync('call(Symbol("s"))'), TypeError);
  assert.equal(context.evalSync('call()()'), 9);
}));

test('handles can be arguments and results', () => {
  const value = { z: 3 };
  let seen;
  return withCall((reference) => {
    seen = reference;
    return new ivm.Reference(value);
  }, ({ context }) => {
    context.global.setSync('reference', new ivm.Reference(value));
    const back = context.evalSync('call(reference)');
    assert.equal(seen.deref(), value);
    assert.equal(back.deref(), value);
  });
});

test('promises are not awaited', () => withCall(async () => 1, ({ context }) => {
  assert.throws(() => context.evalSync('call()'), failure(TypeError, '#<Promise> could not be cloned.'));
}));

test('results that cannot be cloned are refused', () => withCall(() => Symbol('k'), ({ context }) => {
  assert.throws(() => context.evalSync('call()'), failure(TypeError, 'Unsupported type'));
}));

test('undefined is a valid result', () => withCall(() => {}, async ({ context }) => {
  assert.equal(context.evalSync('String(call())'), 'undefined');
  assert.equal(await context.eval('String(call())'), 'undefined');
}));

test('async: the guest receives a promise', () => withContext(async ({ context }) => {
  context.global.setSync('call', new ivm.Callback((value) => value + 1, { async: true }));
  assert.equal(context.evalSync('call(1) instanceof Promise'), true);
  assert.equal(await context.eval('call(1)', { promise: true }), 2);
  context.global.setSync('fail', new ivm.Callback(() => {
    throw new RangeError('no');
  }, { async: true }));
  assert.equal(await context.eval('fail().catch((error) => error.constructor === RangeError && error.message)', { promise: true }), 'no');
}));

test('ignored: the call returns undefined at once', () => withContext(async ({ context }) => {
  let done;
  const called = new Promise((resolve) => {
    done = resolve;
  });
  context.global.setSync('call', new ivm.Callback((value) => {
    done(value);
    throw new Error('ignored');
  }, { ignored: true }));
  assert.equal(context.evalSync('call({ a: 1 })'), undefined);
  assert.deepEqual(await called, { a: 1 });
}));

test('async wins over ignored', () => withContext(({ context }) => {
  context.global.setSync('call', new ivm.Callback(() => 1, { async: true, ignored: true }));
  assert.equal(context.evalSync('call() instanceof Promise'), true);
}));

test('callbacks nest', () => withContext(({ context }) => {
  context.global.setSync('down', (depth) => (depth === 0 ? 0 : context.evalSync(`down(${depth - 1}) + 1`)));
  assert.equal(context.evalSync('down(20)'), 20);
}));

test('callbacks work from asynchronous runs', () => withCall((value) => value * 2, async ({ context }) => {
  assert.equal(await context.eval('call(4)'), 8);
  assert.deepEqual(await Promise.all([1, 2, 3].map((value) => context.eval(`call(${value})`))), [2, 4, 6]);
}));

test('functions of a guest are callable from the host', () => withContext(({ context }) => {
  const add = context.evalSync('(function add(a, b) { "use strict"; return this === undefined ? a + b : "this" })');
  assert.equal(add(1, 2), 3);
  assert.equal(add.call(5, 1, 2), 3);
  assert.equal(add.name, 'add');
  assert.equal(add.length, 2);
  assert.equal('prototype' in add, false);
  assert.throws(() => new add(1, 2), TypeError);
  assert.deepEqual(context.evalSync('((value) => ({ ...value, r: 1 }))')({ x: 1 }), { x: 1, r: 1 });
  assert.throws(() => add(() => 1), failure(TypeError, '() => 1 could not be cloned.'));
  assert.throws(() => context.evalSync('(() => { throw new RangeError("q") })')(), failure(RangeError, 'q'));
  assert.throws(() => context.evalSync('(async () => 1)')(), failure(TypeError, '#<Promise> could not be cloned.'));
  assert.equal(context.evalSync('(() => () => 5)')()(), 5);
  const echo = context.evalSync('((...all) => all.length)');
  for (const count of [0, 1, 2, 3, 4, 20]) assert.equal(echo(...Array.from({ length: count }, () => 'x')), count);
}));

test('the host calls a callback of a guest in the guest\'s mode', () => withContext(async ({ context }) => {
  context.global.setSync('ivm', ivm);
  context.evalSync('var received = []; const receive = (value) => { received.push(value); return value * 2; };');
  const [sync, async, ignored] = ['{}', '{ async: true }', '{ ignored: true }'].map((options) => context.evalSync(`new ivm.Callback(receive, ${options})`));
  assert.equal(sync(1), 2);
  const promise = async(2);
  assert.ok(promise instanceof Promise);
  assert.equal(await promise, 4);
  assert.equal(ignored(3), undefined);
  assert.equal(ignored(Infinity), undefined);
  // Calls of an isolate are ordered.
  assert.equal(await context.eval('received.join()'), '1,2,3,Infinity');
  // Errors of ignored callbacks are dropped.
  const throws = context.evalSync('new ivm.Callback(() => { throw new Error("ignored"); }, { ignored: true })');
  assert.equal(throws(), undefined);
  assert.equal(await context.eval('1 + 1'), 2);
}));

test('a function that returns to its realm is wrapped', () => {
  let calls = 0;
  const count = () => (calls += 1);
  return withCall(count, ({ context }) => {
    const back = context.evalSync('call');
    assert.notEqual(back, count);
    assert.equal(back(), 1);
    assert.equal(calls, 1);
    assert.equal(back.name, 'count');
  });
});

// Work that a function has started, as batchers and loaders do, continues before an async run's next call.
for (const [what, begin] of [
  ['promises', async () => { for (let i = 0; i < 5; i += 1) await undefined; }],
  ['nextTick', () => new Promise((resolve) => { process.nextTick(resolve); })],
]) {
  test(`${what} of the host continue between the calls of a guest`, () => withContext(async ({ isolate, context }) => {
    let isDone = false;
    const start = () => {
      isDone = false;
      begin().finally(() => { isDone = true; });
    };
    context.global.setSync('start', new ivm.Callback(start));
    context.global.setSync('startAndTell', new ivm.Callback(() => (start(), 1)));
    context.global.setSync('isDone', new ivm.Callback(() => isDone));
    for (const name of ['start', 'startAndTell']) {
      const script = isolate.compileScriptSync(`{ let early = 0; for (let i = 0; i < 300; i += 1) { ${name}(); if (!isDone()) early += 1; } early }`);
      assert.equal(await script.run(context), 0, name);
    }
  }));
}

// A host whose event loop misses a signal of another thread stands still until something else wakes it.
test('callbacks of an async run do not wait for another event', () => withContext(async ({ isolate, context }) => {
  context.global.setSync('call', new ivm.Callback(() => {}));
  const script = isolate.compileScriptSync('for (let i = 0; i < 1000; i += 1) call()');
  for (let round = 0; round < 10; round += 1) {
    const start = performance.now();
    await script.run(context);
    const took = performance.now() - start;
    assert.ok(took < 5_000, `${took} ms`);
  }
}));
