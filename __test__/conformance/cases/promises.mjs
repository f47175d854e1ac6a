// The option `promise`, in every place.

export default ({ ivm, test, assert, expect }) => {
  const refused = expect.transfer('A non-transferable value was passed');

  test('synchronous methods return a promise', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('Promise.resolve(4)');
    const held = context.evalSync('globalThis.five = Promise.resolve(5); async () => 6', { reference: true });
    const promises = [
      context.evalSync('Promise.resolve(2)', { promise: true }), context.evalClosureSync('return Promise.resolve(3)', [], { result: { promise: true } }),
      script.runSync(context, { promise: true }), context.global.getSync('five', { promise: true }), held.applySync(undefined, [], { result: { promise: true } }),
    ];
    for (const promise of promises) assert.ok(promise instanceof Promise);
    assert.same(await Promise.all(promises), [2, 3, 4, 5, 6]);
  });

  test('asynchronous methods wait for a promise', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('Promise.resolve(4)');
    const held = context.evalSync('globalThis.five = Promise.resolve(5); async () => 6', { reference: true });
    assert.equal(await context.eval('Promise.resolve(2)', { promise: true }), 2);
    assert.equal(await context.evalClosure('return Promise.resolve(3)', [], { result: { promise: true } }), 3);
    assert.equal(await script.run(context, { promise: true }), 4);
    assert.equal(await context.global.get('five', { promise: true }), 5);
    assert.equal(await held.apply(undefined, [], { result: { promise: true } }), 6);
  });

  test('other values are wrapped in a promise', async ({ open }) => {
    const { context } = open();
    const promise = context.evalSync('2', { promise: true });
    assert.ok(promise instanceof Promise);
    assert.equal(await promise, 2);
    assert.same(await context.eval('({ a: 1 })', { promise: true, copy: true }), { a: 1 });
  });

  test('thenables are not promises', async ({ open }) => {
    await assert.rejects(open().context.eval('({ then() {} })', { promise: true }), refused);
  });

  test('values follow the other options', async ({ open }) => {
    const { context } = open();
    assert.same(await context.eval('Promise.resolve({ a: 1 })', { promise: true, copy: true }), { a: 1 });
    assert.same((await context.eval('Promise.resolve({ a: 1 })', { promise: true, externalCopy: true })).copy(), { a: 1 });
    assert.equal((await context.eval('Promise.resolve({})', { promise: true, reference: true })).typeof, 'object');
    await assert.rejects(context.eval('Promise.resolve({})', { promise: true }), refused);
    await assert.rejects(context.eval('Promise.resolve(() => 1)', { promise: true, copy: true }), expect.transfer('() => 1 could not be cloned.'));
  });

  test('rejections are passed on', async ({ open }) => {
    const { context } = open();
    await assert.rejects(context.eval('Promise.reject(new RangeError("no"))', { promise: true }), expect.thrown(RangeError, 'no'));
    assert.equal(await context.eval('Promise.reject(5)', { promise: true }).catch((reason) => reason), 5);
    assert.equal(await context.eval('Promise.reject()', { promise: true }).catch((reason) => reason), undefined);
    await assert.rejects(context.eval('Promise.reject({})', { promise: true }), expect.thrown(Error, /^An object was thrown/));
  });

  test('a pending promise settles later', async ({ open }) => {
    const { context } = open();
    const promise = context.evalSync('new Promise((resolve) => { globalThis.resolve = resolve; })', { promise: true, copy: true });
    await context.eval('resolve({ late: true })');
    assert.same(await promise, { late: true });
  });

  test('a pending promise is rejected later', async ({ open }) => {
    const { context } = open();
    const promise = context.evalSync('new Promise((_, reject) => { globalThis.reject = reject; })', { promise: true });
    const lateRejection = assert.rejects(promise, expect.thrown(RangeError, 'late'));
    await context.eval('reject(new RangeError("late"))');
    await lateRejection;
  });

  test('dispose abandons pending promises', async ({ open }) => {
    const { isolate, context } = open();
    const promises = [
      context.evalSync('new Promise(() => {})', { promise: true }),
      context.evalClosureSync('return new Promise(() => {})', [], { result: { promise: true } }),
    ];
    isolate.dispose();
    for (const promise of promises) await assert.rejects(promise, expect.disposed('Promise was abandoned'));
  });

  test('promises are passed into another isolate', async ({ open }) => {
    const { context } = open();
    let resolve;
    const promise = new Promise((done) => { resolve = done; });
    const result = context.evalClosure('return $0.then((value) => value.a + 1)', [promise], {
      arguments: { copy: true, promise: true }, result: { promise: true },
    });
    resolve({ a: 1 });
    assert.equal(await result, 2);
  });

  test('rejections are passed into another isolate', async ({ open }) => {
    const { context } = open();
    let reject;
    const promise = new Promise((_done, fail) => { reject = fail; });
    const result = context.evalClosure('return $0.catch((error) => [error.constructor === RangeError, error.message].join())', [promise], {
      arguments: { promise: true }, result: { promise: true },
    });
    reject(new RangeError('from here'));
    assert.equal(await result, 'true,from here');
  });

  test('set accepts a promise', async ({ open }) => {
    const { context } = open();
    context.global.setSync('later', Promise.resolve({ n: 1 }), { promise: true, copy: true });
    assert.equal(await context.eval('later.then(({ n }) => n)', { promise: true }), 1);
  });

  test('evalIgnored ignores promises', async ({ open }) => {
    const { context } = open();
    assert.equal(context.evalIgnored('globalThis.n = 1; Promise.resolve({})', { promise: true, copy: true }), undefined);
    assert.equal(await context.eval('n'), 1);
  });

  test('async functions of both sides call each other', async ({ open }) => {
    const { context } = open();
    const here = new ivm.Reference(async (n) => (n === 0 ? 'done' : there.apply(undefined, [n - 1], { result: { promise: true } })));
    const there = context.evalClosureSync(
      'return async (n) => (n === 0 ? "done" : $0.apply(undefined, [n - 1], { result: { promise: true } }))', [here], { result: { reference: true } },
    );
    assert.equal(await here.apply(undefined, [10], { result: { promise: true } }), 'done');
  });
};
