// `Reference`: apply, copy, deref. Each rule holds for values of this realm and for those of another isolate.

/** The value of the code, evaluated in this realm. */
const made = (code) => new Function(`return (${code})`)();

const COPIES = { arguments: { copy: true }, result: { copy: true } };

export default ({ ivm, test, assert, expect, sides }) => {
  /** The same value behind a Reference of this realm and behind one to another isolate. */
  const both = (open, code) => [
    ['here', new ivm.Reference(made(code))],
    ['there', open().context.evalSync(`(${code})`, { reference: true })],
  ];

  test('typeof, here', () => {
    const cases = [
      [undefined, 'undefined'], [null, 'null'], [true, 'boolean'], [1, 'number'], ['a', 'string'], [Symbol('s'), 'object'],
      [1n, 'object'], [{}, 'object'], [[], 'object'], [() => {}, 'function'], [class {}, 'function'],
    ];
    for (const [value, name] of cases) assert.equal(new ivm.Reference(value).typeof, name, name);
  });

  test('typeof, there', ({ open }) => {
    const { context } = open();
    const names = {
      '1': 'number', '"a"': 'string', 'null': 'null', 'undefined': 'undefined', 'true': 'boolean', 'Symbol()': 'object',
      '5n': 'object', '({})': 'object', '[]': 'object', '(() => 1)': 'function', 'class {}': 'function',
    };
    for (const [code, name] of Object.entries(names)) assert.equal(context.evalSync(`(${code})`, { reference: true }).typeof, name, code);
  });

  test('options are checked', () => {
    assert.throws(() => new ivm.Reference({}, 1), expect.invalid('`Reference` requires parameter 2 to be an object'));
    assert.throws(() => new ivm.Reference({}, { unsafeInherit: 1 }), expect.invalid('`unsafeInherit` must be a boolean'));
    for (const options of [undefined, null, {}, { unsafeInherit: null }]) assert.equal(new ivm.Reference(1, options).typeof, 'number');
  });

  for (const method of ['apply', 'applySync', 'applyIgnored', 'applySyncPromise']) {
    test(`${method} checks its arguments`, ({ open }) => {
      for (const [where, reference] of both(open, '() => 1')) {
        for (const list of [1, 'a', {}]) assert.throws(() => reference[method](undefined, list), expect.invalid('`undefined` requires parameter 2 to be an array'), where);
        assert.throws(() => reference[method](undefined, [], 1), expect.invalid('`undefined` requires parameter 3 to be an object'), where);
      }
    });
  }

  const SUM = '(function (a, b) { "use strict"; return a === undefined ? typeof this : a + b })';

  test('applySync', ({ open }) => {
    for (const [where, reference] of both(open, SUM)) {
      assert.equal(reference.applySync(undefined, [1, 2]), 3, where);
      assert.equal(reference.applySync(), 'undefined', where);
      assert.equal(reference.applySync(null, null, null), 'object', where);
      assert.equal(reference.applySync(5, []), 'number', where);
      assert.equal(reference.applySync(() => {}, []), 'function', where);
    }
  });

  test('apply', async ({ open }) => {
    for (const [where, reference] of both(open, SUM)) {
      assert.equal(await reference.apply(undefined, [1, 2]), 3, where);
      assert.equal(await reference.apply(), 'undefined', where);
      assert.equal(await reference.apply(null, null, null), 'object', where);
    }
  });

  test('applyIgnored', async ({ open }) => {
    const { context } = open();
    const count = context.evalSync('globalThis.n = 0; (by) => { n += by; throw new Error("ignored") }', { reference: true });
    assert.equal(count.applyIgnored(undefined, [2]), undefined);
    assert.equal(await context.eval('n'), 2);
    let here = 0;
    const local = new ivm.Reference((by) => { here += by; throw new Error('ignored'); });
    assert.equal(local.applyIgnored(undefined, [3]), undefined);
    await new ivm.Reference(() => {}).apply();
    assert.equal(here, 3);
  });

  test('receiver and arguments must be transferable', async ({ open }) => {
    const refused = expect.transfer('A non-transferable value was passed');
    const references = both(open, SUM);
    for (const [where, reference] of references) {
      for (const value of [{}, [], Symbol('s'), Promise.resolve()]) {
        assert.throws(() => reference.applySync(value, []), refused, where);
        assert.throws(() => reference.applySync(undefined, [value]), refused, where);
        assert.throws(() => reference.applyIgnored(undefined, [value]), refused, where);
      }
    }
    for (const [where, reference] of references) {
      await assert.rejects(reference.apply({}, []), refused, where);
      await assert.rejects(reference.apply(undefined, [{}]), refused, where);
    }
  });

  test('wrong options are thrown or rejected', async ({ open }) => {
    const cases = [
      [{ timeout: 'x' }, '`timeout` must be a 32-bit number'], [{ arguments: 1 }, '`arguments` must be an object'],
      [{ result: { copy: 1 } }, '`copy` must be a boolean'],
      [{ result: { copy: true, reference: true } }, 'Only one of `copy`, `externalCopy`, or `reference` may be set'],
    ];
    const references = both(open, '() => 1');
    for (const [where, reference] of references) {
      for (const [options, message] of cases) {
        assert.throws(() => reference.applySync(undefined, [], options), expect.invalid(message), where);
        assert.throws(() => reference.applyIgnored(undefined, [], options), expect.invalid(message), where);
      }
    }
    for (const [where, reference] of references) {
      for (const [options, message] of cases) await assert.rejects(reference.apply(undefined, [], options), expect.invalid(message), where);
    }
  });

  test('results that are not transferable become References', async ({ open }) => {
    const references = both(open, '(value) => [value]');
    for (const [where, reference] of references) {
      const result = reference.applySync(undefined, [1]);
      assert.ok(result instanceof ivm.Reference, where);
      assert.equal(result.getSync(0), 1, where);
      assert.same(reference.applySync(undefined, [{ a: 1 }], COPIES), [{ a: 1 }], where);
      assert.same(reference.applySync(undefined, [1], { result: { externalCopy: true } }).copy(), [1], where);
      assert.equal(reference.applySync(undefined, [1], { result: { reference: true } }).typeof, 'object', where);
    }
    for (const [where, reference] of references) {
      assert.ok(await reference.apply(undefined, [1]) instanceof ivm.Reference, where);
      assert.same(await reference.apply(undefined, [{ a: 1 }], COPIES), [{ a: 1 }], where);
    }
  });

  test('any number of arguments', ({ open }) => {
    for (const [where, reference] of both(open, '(...all) => all.reduce((a, b) => a + b, 0)')) {
      for (const count of [0, 1, 2, 3, 4, 5, 8, 100]) assert.equal(reference.applySync(undefined, Array.from({ length: count }, () => 1)), count, where);
    }
  });

  test('promises of applied functions', async ({ open }) => {
    const references = both(open, 'async (value) => ({ value })');
    const options = { result: { promise: true, copy: true } };
    const promises = references.map(([, reference]) => reference.applySync(undefined, [1], options));
    for (const promise of promises) {
      assert.ok(promise instanceof Promise);
      assert.same(await promise, { value: 1 });
    }
    for (const [where, reference] of references) {
      assert.same(await reference.apply(undefined, [1], options), { value: 1 }, where);
      assert.equal((await reference.apply(undefined, [1])).typeof, 'object', where);
    }
  });

  test('only functions can be applied', async ({ open }) => {
    for (const code of ['({})', '1', 'null', '"text"']) {
      const references = both(open, code);
      for (const [where, reference] of references) assert.throws(() => reference.applySync(), expect.invalid('Reference is not a function'), where);
    }
    const references = [new ivm.Reference({})];
    for (const reference of references) await assert.rejects(reference.apply(), expect.invalid('Reference is not a function'));
  });

  test('errors of an applied function are thrown', async ({ open }) => {
    const references = both(open, '() => { throw new RangeError("thrown") }');
    for (const [where, reference] of references) assert.throws(() => reference.applySync(), expect.thrown(RangeError, 'thrown'), where);
    for (const [where, reference] of references) await assert.rejects(reference.apply(), expect.thrown(RangeError, 'thrown'), where);
  });

  test('applySyncPromise rejects values of the caller\'s own isolate', () => {
    assert.throws(() => new ivm.Reference(() => 1).applySyncPromise(), expect.unsupported('This function may not be called from the default thread'));
  });

  test('applySyncPromise is not available on the main thread', ({ open }) => {
    const { context } = open();
    const held = context.evalSync('() => 1', { reference: true });
    // Here a synchronous call is in progress, and its caller's thread is the default one.
    assert.throws(() => held.applySyncPromise(), expect.unsupported('This function may not be called from the default thread'));
  });

  test('applySyncPromise waits', async ({ open }) => {
    const { context } = open();
    const wait = new ivm.Reference(async (value) => value * 2);
    await sides.calledBack(context.evalClosure('return $0.applySyncPromise(undefined, [21])', [wait]), 42);
    if (!sides.hosts) return;
    const object = new ivm.Reference(async () => new ivm.ExternalCopy({ a: 1 }).copyInto());
    assert.same(await context.evalClosure('return $0.applySyncPromise()', [object], { result: { copy: true } }), { a: 1 });
    const failing = new ivm.Reference(async () => { throw new RangeError('not today'); });
    await assert.rejects(context.evalClosure('return $0.applySyncPromise()', [failing]), expect.thrown(RangeError, 'not today'));
    const bare = new ivm.Reference(async () => ({}));
    await assert.rejects(context.evalClosure('return $0.applySyncPromise()', [bare]), expect.thrown(TypeError, 'A non-transferable value was passed'));
    assert.equal(await context.evalClosure('return $0.applySyncPromise().getSync("a")', [new ivm.Reference(() => ({ a: 4 }))]), 4);
  });

  test('applySyncPromise has no options of the result', { differs: { guest: 'it looks whether it may wait first' } }, async ({ open }) => {
    const { context } = open();
    await assert.rejects(
      context.evalClosure('return $0.applySyncPromise(undefined, [], { result: { copy: true } })', [new ivm.Reference(() => 1)]),
      expect.thrown(TypeError, '`result` options are not available for `applySyncPromise`'),
    );
  });

  test('copy', async ({ open }) => {
    const references = both(open, '({ a: new Map([[1, { b: 2 }]]), s: "text", d: new Date(5) })');
    const value = { a: new Map([[1, { b: 2 }]]), s: 'text', d: new Date(5) };
    for (const [where, reference] of references) {
      assert.same(reference.copySync(), value, where);
      assert.ok(reference.copySync() !== reference.copySync(), where);
    }
    for (const [where, reference] of references) assert.same(await reference.copy(), value, where);
  });

  test('copy returns primitives, too', ({ open }) => {
    for (const code of ['1', '"text"', 'null', 'undefined', '5n']) {
      for (const [where, reference] of both(open, code)) assert.equal(reference.copySync(), made(code), where);
    }
  });

  test('copy rejects values that cannot be cloned', async ({ open }) => {
    const refused = expect.transfer('() => 1 could not be cloned.');
    const references = both(open, '() => 1');
    for (const [where, reference] of references) assert.throws(() => reference.copySync(), refused, where);
    for (const [where, reference] of references) await assert.rejects(reference.copy(), refused, where);
  });

  test('deref and derefInto check their options', () => {
    const reference = new ivm.Reference({});
    for (const method of ['deref', 'derefInto']) {
      assert.throws(() => reference[method](1), expect.invalid('`undefined` requires parameter 1 to be an object'));
      assert.throws(() => reference[method]({ release: 1 }), expect.invalid('`release` must be a boolean'));
    }
  });

  test('deref returns the value itself in its own isolate', ({ open }) => {
    const value = {};
    assert.equal(new ivm.Reference(value).deref(), value);
    const { context } = open();
    assert.throws(() => context.global.deref(), expect.invalid('Cannot dereference this from current isolate'));
    const once = new ivm.Reference(value);
    assert.equal(once.deref({ release: true }), value);
    assert.throws(() => once.deref(), expect.released('Reference has been released'));
  });

  test('derefInto passes the value itself to its isolate', ({ open }) => {
    const { context } = open();
    const object = context.evalSync('globalThis.object = { a: 1 }', { reference: true });
    assert.equal(context.evalClosureSync('return $0 === object', [object.derefInto()]), true);
    context.global.setSync('again', object.derefInto({ release: true }));
    assert.equal(context.evalSync('again === object'), true);
    assert.throws(() => object.typeof, expect.released('Reference has been released'));
  });

  test('derefInto works for values of this realm', () => {
    const inner = {};
    const same = new ivm.Reference((value) => value === inner);
    assert.equal(same.applySync(undefined, [new ivm.Reference(inner).derefInto()]), true);
  });

  test('derefInto is valid for one use in one isolate', ({ open }) => {
    const { context } = open();
    const used = context.global.derefInto();
    context.global.setSync('self', used);
    assert.equal(context.evalSync('self === globalThis'), true);
    assert.throws(() => context.global.setSync('self', used), expect.released('The return value of `derefInto()` should only be used once'));
    assert.throws(() => context.global.setSync('foreign', new ivm.Reference({}).derefInto()), expect.transfer('Cannot dereference this into target isolate'));
  });

  test('a dereferenced value can be the receiver', ({ open }) => {
    const { context } = open();
    const object = context.evalSync('({ name: "me" })', { reference: true });
    const method = context.evalSync('(function () { return this.name })', { reference: true });
    assert.equal(method.applySync(object.derefInto()), 'me');
  });

  test('a Reference to a Callback applies its function', { differs: 'it cannot be applied there' }, async ({ open }) => {
    const { context } = open();
    const reference = new ivm.Reference(new ivm.Callback(async (value) => ({ value })));
    assert.equal(reference.typeof, 'function');
    assert.same(await reference.apply(undefined, [1], { result: { promise: true, copy: true } }), { value: 1 });
    const result = await context.evalClosure(
      'return $0.apply(undefined, [2], { result: { promise: true, copy: true } })',
      [new ivm.Callback(async (value) => ({ value }))],
      { arguments: { reference: true }, result: { promise: true, copy: true } },
    );
    assert.same(result, { value: 2 });
  });

  test('a blocking call can follow an awaited one only on a host', async ({ open }) => {
    const { isolate, context } = open();
    const script = isolate.compileScriptSync('1');
    await context.eval('1');
    for (const call of [
      () => context.evalSync('1'), () => context.evalClosureSync('1'), () => script.runSync(context), () => isolate.createContextSync(),
      () => isolate.compileScriptSync('1'), () => isolate.getHeapStatisticsSync(), () => context.global.getSync('a'),
      () => context.global.setSync('a', 1), () => context.global.deleteSync('a'), () => isolate.compileModuleSync('1'),
    ]) sides.syncAfterAwait(call);
    // A realm's own values are always accessible to it.
    assert.equal(new ivm.Reference({ a: 1 }).getSync('a'), 1);
  });
};
