// `Callback`, and functions that become callbacks when they are passed.

export default ({ ivm, test, assert, expect, sides }) => {
  test('arguments are checked', () => {
    assert.throws(() => new ivm.Callback(1), expect.invalid('`Callback` requires parameter 1 to be a function'));
    assert.throws(() => new ivm.Callback({}), expect.invalid('`Callback` requires parameter 1 to be a function'));
    assert.throws(() => new ivm.Callback(() => {}, 1), expect.invalid('`Callback` requires parameter 2 to be an object'));
    assert.throws(() => new ivm.Callback(() => {}, { async: 1 }), expect.invalid('`async` must be a boolean'));
    assert.throws(() => new ivm.Callback(() => {}, { ignored: 1 }), expect.invalid('`ignored` must be a boolean'));
    for (const options of [undefined, null, {}, { sync: true, async: true, ignored: true }]) assert.ok(new ivm.Callback(() => {}, options) instanceof ivm.Callback);
  });

  test('a Callback is not a function in its own realm', () => {
    assert.equal(typeof new ivm.Callback(() => {}), 'object');
  });

  test('name and length are kept', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', function named(_a, _b) {});
    context.global.setSync('made', new ivm.Callback(function other(_a, _b, _c) {}));
    context.global.setSync('nameless', (() => () => {})());
    assert.same(context.evalSync('[call.name, call.length, typeof made, made.name, made.length, nameless.name]', { copy: true }), ['named', 2, 'function', 'other', 3, '']);
  });

  test('it cannot be constructed', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', function named() {});
    assert.equal(context.evalSync('"prototype" in call'), false);
    assert.throws(() => context.evalSync('new call()'), expect.thrown(TypeError, 'call is not a constructor'));
  });

  test('`this` is undefined, arguments and results are copied', ({ open }) => {
    const { context } = open();
    let seen;
    context.global.setSync('call', function (...args) {
      seen = [this, args];
      return { sum: args.length };
    });
    assert.equal(context.evalSync('call.call(7, 1, "a", { x: [1] }, undefined, null, 5n, new Map([[1, 2]])).sum'), 7);
    assert.same(seen, [undefined, [1, 'a', { x: [1] }, undefined, null, 5n, new Map([[1, 2]])]]);
    assert.equal(context.evalSync('call() instanceof Object'), true);
  });

  test('functions cannot be arguments', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', () => {});
    assert.throws(() => context.evalSync('call(() => 1)'), expect.transfer('() => 1 could not be cloned.'));
    assert.throws(() => context.evalSync('call(Symbol("s"))'), expect.transfer('Symbol(s) could not be cloned.'));
  });

  test('functions can be results', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', () => () => 9);
    assert.equal(context.evalSync('call()()'), 9);
  });

  test('handles can be arguments and results', ({ open }) => {
    const { context } = open();
    const value = { z: 3 };
    let seen;
    context.global.setSync('call', (reference) => {
      seen = reference;
      return new ivm.Reference(value);
    });
    context.global.setSync('reference', new ivm.Reference(value));
    const back = context.evalSync('call(reference)');
    assert.equal(seen.deref(), value);
    assert.equal(back.deref(), value);
  });

  test('promises are not awaited', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', async () => 1);
    assert.throws(() => context.evalSync('call()'), expect.transfer('#<Promise> could not be cloned.'));
  });

  test('results that cannot be cloned are refused', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', () => Symbol('k'));
    assert.throws(() => context.evalSync('call()'), expect.transfer('Unsupported type'));
  });

  test('undefined is a valid result', async ({ open }) => {
    const { context } = open();
    context.global.setSync('call', () => {});
    assert.equal(context.evalSync('String(call())'), 'undefined');
    await sides.calledBack(context.eval('String(call())'), 'undefined');
  });

  test('async: the caller gets a promise', async ({ open }) => {
    const { context } = open();
    context.global.setSync('call', new ivm.Callback((value) => value + 1, { async: true }));
    context.global.setSync('fail', new ivm.Callback(() => { throw new RangeError('no'); }, { async: true }));
    assert.equal(context.evalSync('call(1) instanceof Promise'), true);
    assert.equal(await context.eval('call(1)', { promise: true }), 2);
    assert.equal(await context.eval('fail().catch((error) => error.constructor === RangeError && error.message)', { promise: true }), 'no');
  });

  test('async: no promise is awaited either', async ({ open }) => {
    const { context } = open();
    context.global.setSync('call', new ivm.Callback(async () => 1, { async: true }));
    await assert.rejects(context.eval('call()', { promise: true }), expect.transfer('#<Promise> could not be cloned.'));
  });

  test('ignored: the call returns undefined at once', async ({ open }) => {
    const { context } = open();
    let done;
    const called = new Promise((resolve) => { done = resolve; });
    context.global.setSync('call', new ivm.Callback((value) => {
      done(value);
      throw new Error('ignored');
    }, { ignored: true }));
    assert.equal(context.evalSync('call({ a: 1 })'), undefined);
    assert.same(await called, { a: 1 });
  });

  test('ignored: arguments are still checked', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', new ivm.Callback(() => {}, { ignored: true }));
    assert.throws(() => context.evalSync('call(() => 1)'), expect.transfer('() => 1 could not be cloned.'));
  });

  test('async wins over ignored', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', new ivm.Callback(() => 1, { async: true, ignored: true }));
    assert.equal(context.evalSync('call() instanceof Promise'), true);
  });

  test('callbacks nest', ({ open }) => {
    const { context } = open();
    context.global.setSync('down', (depth) => (depth === 0 ? 0 : context.evalSync(`down(${depth - 1}) + 1`)));
    assert.equal(context.evalSync('down(10)'), 10);
  });

  test('callbacks work from asynchronous runs', async ({ open }) => {
    const { context } = open();
    context.global.setSync('call', (value) => value * 2);
    await sides.calledBack(context.eval('call(4)'), 8);
    await sides.calledBack(Promise.all([1, 2, 3].map((value) => context.eval(`call(${value})`))), [2, 4, 6]);
  });

  test('an error of a callback is thrown in the caller\'s realm', ({ open }) => {
    const { context } = open();
    context.global.setSync('call', () => { throw new RangeError('hey'); });
    assert.equal(context.evalSync('try { call() } catch (error) { error.constructor === RangeError && error.message }'), 'hey');
  });

  test('functions of another isolate are callable here', ({ open }) => {
    const { context } = open();
    const add = context.evalSync('(function add(a, b) { "use strict"; return this === undefined ? a + b : "this" })');
    assert.equal(add(1, 2), 3);
    assert.equal(add.call(5, 1, 2), 3);
    assert.same([add.name, add.length, 'prototype' in add], ['add', 2, false]);
    assert.throws(() => new add(1, 2), expect.thrown(TypeError, /is not a constructor/));
    const echo = context.evalSync('((...all) => all.length)');
    for (const count of [0, 1, 2, 3, 4, 20]) assert.equal(echo(...Array.from({ length: count }, () => 'x')), count);
  });

  test('arguments and results of functions of another isolate', ({ open }) => {
    const { context } = open();
    const echo = context.evalSync('((value) => ({ ...value, r: 1 }))');
    assert.same(echo({ x: 1 }), { x: 1, r: 1 });
    assert.throws(() => echo(() => 1), expect.transfer('() => 1 could not be cloned.'));
    assert.throws(() => echo(Symbol('s')), expect.transfer('Symbol(s) could not be cloned.'));
    assert.throws(() => context.evalSync('(() => { throw new RangeError("q") })')(), expect.thrown(RangeError, 'q'));
    assert.throws(() => context.evalSync('(async () => 1)')(), expect.transfer('#<Promise> could not be cloned.'));
    assert.equal(context.evalSync('(() => () => 5)')()(), 5);
  });

  test('a function that returns to its realm is wrapped', ({ open }) => {
    const { context } = open();
    let calls = 0;
    const count = () => (calls += 1);
    context.global.setSync('call', count);
    const back = context.evalSync('call');
    assert.ok(back !== count);
    assert.equal(back(), 1);
    assert.equal(calls, 1);
    assert.equal(back.name, 'count');
  });

  test('functions of a disposed isolate throw', ({ open }) => {
    const { isolate, context } = open();
    const call = context.evalSync('() => 1');
    isolate.dispose();
    assert.throws(() => call(), expect.disposed('Isolated is disposed'));
  });
};
