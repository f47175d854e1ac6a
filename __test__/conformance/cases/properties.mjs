// get, set and delete of References, to values of this realm and of another isolate.

/** The value of the code, evaluated in this realm. */
const made = (code) => new Function(`return (${code})`)();

const KEYS = [-1, 1.5, -0, 2 ** 32, Number.NaN, {}, [], Symbol.iterator, true, null, undefined, 1n];

export default ({ ivm, test, assert, expect }) => {
  const both = (open, code) => [
    ['here', new ivm.Reference(made(code))],
    ['there', open().context.evalSync(`(${code})`, { reference: true })],
  ];

  for (const method of ['get', 'getSync', 'delete', 'deleteSync', 'deleteIgnored']) {
    test(`${method} requires a key`, ({ open }) => {
      for (const [where, reference] of both(open, '({})')) {
        assert.throws(() => reference[method](), expect.invalid('`undefined` requires at least 1 parameter'), where);
      }
    });
  }

  for (const method of ['set', 'setSync', 'setIgnored']) {
    test(`${method} requires a key and a value`, ({ open }) => {
      for (const [where, reference] of both(open, '({})')) {
        assert.throws(() => reference[method](), expect.invalid('`undefined` requires at least 2 parameters'), where);
        assert.throws(() => reference[method]('a'), expect.invalid('`undefined` requires at least 2 parameters'), where);
        assert.throws(() => reference[method]('a', 1, 1), expect.invalid('`undefined` requires parameter 3 to be an object'), where);
      }
    });
  }

  test('options of get must be an object', ({ open }) => {
    for (const [where, reference] of both(open, '({})')) {
      for (const method of ['get', 'getSync']) assert.throws(() => reference[method]('a', 1), expect.invalid('`undefined` requires parameter 2 to be an object'), where);
    }
  });

  test('options of get and set are thrown or rejected', async ({ open }) => {
    const references = both(open, '({})');
    const cases = [[{ copy: 1 }, '`copy` must be a boolean'], [{ copy: true, reference: true }, 'Only one of `copy`, `externalCopy`, or `reference` may be set']];
    for (const [where, reference] of references) {
      for (const [options, message] of cases) {
        assert.throws(() => reference.getSync('a', options), expect.invalid(message), where);
        assert.throws(() => reference.setSync('a', 1, options), expect.invalid(message), where);
        assert.throws(() => reference.setIgnored('a', 1, options), expect.invalid(message), where);
      }
      assert.throws(() => reference.getSync('a', { accessors: 1 }), expect.invalid('`accessors` must be a boolean'), where);
    }
    for (const [where, reference] of references) {
      for (const [options, message] of cases) {
        await assert.rejects(reference.get('a', options), expect.invalid(message), where);
        await assert.rejects(reference.set('a', 1, options), expect.invalid(message), where);
      }
    }
  });

  const OBJECT = '({ a: 1, o: { b: 2 }, f(x) { return x + 1 }, 3: "three", u: undefined })';

  test('getSync returns own properties', ({ open }) => {
    for (const [where, reference] of both(open, OBJECT)) {
      assert.equal(reference.getSync('a'), 1, where);
      assert.equal(reference.getSync(3), 'three', where);
      assert.equal(reference.getSync('3'), 'three', where);
      assert.equal(reference.getSync('u'), undefined, where);
      assert.equal(reference.getSync('missing'), undefined, where);
      assert.equal(reference.getSync('toString'), undefined, where);
      assert.equal(reference.getSync('constructor'), undefined, where);
    }
  });

  test('get returns own properties', async ({ open }) => {
    for (const [where, reference] of both(open, OBJECT)) {
      assert.equal(await reference.get('a'), 1, where);
      assert.equal(await reference.get(3), 'three', where);
      assert.equal(await reference.get('toString'), undefined, where);
      assert.ok(await reference.get('o') instanceof ivm.Reference, where);
      assert.same((await reference.get('o', { externalCopy: true })).copy(), { b: 2 }, where);
    }
  });

  test('objects are returned as References, functions as functions', ({ open }) => {
    for (const [where, reference] of both(open, OBJECT)) {
      const inner = reference.getSync('o');
      assert.ok(inner instanceof ivm.Reference, where);
      assert.equal(inner.getSync('b'), 2, where);
      assert.equal(reference.getSync('f')(4), 5, where);
      assert.equal(reference.getSync('f', { reference: true }).applySync(undefined, [5]), 6, where);
    }
  });

  test('options of get', ({ open }) => {
    for (const [where, reference] of both(open, OBJECT)) {
      assert.same(reference.getSync('o', { copy: true }), { b: 2 }, where);
      assert.same(reference.getSync('o', { externalCopy: true }).copy(), { b: 2 }, where);
      assert.equal(reference.getSync('a', { reference: true }).typeof, 'number', where);
      assert.ok(reference.getSync('o', { copy: true, promise: true }) instanceof Promise, where);
    }
  });

  test('a missing property is undefined, transferred as requested', async ({ open }) => {
    const references = both(open, '({})');
    for (const [where, reference] of references) {
      assert.equal(reference.getSync('none', { reference: true }).typeof, 'undefined', where);
      assert.equal(reference.getSync('none', { externalCopy: true }).copy(), undefined, where);
    }
    for (const promise of references.map(([, reference]) => reference.get('none', { promise: true }))) assert.equal(await promise, undefined);
  });

  test('get rejects getters unless `accessors` is set', async ({ open }) => {
    const references = both(open, '({ get a() { return 5 }, list: [1, 2], set only(value) {} })');
    for (const [where, reference] of references) {
      assert.throws(() => reference.getSync('a'), expect.invalid('Property is getter'), where);
      assert.throws(() => reference.getSync('only'), expect.invalid('Property is getter'), where);
      assert.throws(() => reference.getSync('list').getSync('length'), expect.invalid('Property is getter'), where);
      assert.equal(reference.getSync('list').getSync(1), 2, where);
      assert.equal(reference.getSync('a', { accessors: true }), 5, where);
      assert.equal(reference.getSync('only', { accessors: true }), undefined, where);
      assert.equal(reference.getSync('list').getSync('length', { accessors: true }), 2, where);
    }
    for (const [where, reference] of references) await assert.rejects(reference.get('a'), expect.invalid('Property is getter'), where);
  });

  test('no getter runs without `accessors`, whatever the object is', ({ open }) => {
    const code = `(() => {
      const runs = () => { throw new Error('a getter ran'); };
      const getter = { get: runs, enumerable: true, configurable: true };
      const dictionary = Object.defineProperty(Object.fromEntries(Array.from({ length: 2000 }, (_, index) => ['k' + index, index])), 'a', getter);
      delete dictionary.k5;
      return {
        dictionary,
        elements: Object.defineProperty([1, 2], 0, getter),
        sparse: Object.defineProperty({ 9000000: 1 }, 5, getter),
        frozen: Object.freeze({ get a() { return runs(); }, b: 2 }),
        array: Object.assign([1], { a: 2 }),
        error: Object.assign(new Error('e'), { a: 2 }),
        text: Object.assign(new String('xyz'), { a: 2 }),
        bytes: Object.assign(new Uint8Array([7]), { a: 2 }),
        before: Object.create({ get a() { return runs(); } }, { a: { value: 2 } }),
        replaced: Object.defineProperty({ get a() { return runs(); } }, 'a', { value: 2 }),
        later: Object.defineProperty({ a: 1 }, 'a', getter),
      };
    })()`;
    for (const [where, reference] of both(open, code)) {
      const read = (name, key) => reference.getSync(name, { reference: true }).getSync(key);
      for (const [name, key] of [['dictionary', 'a'], ['elements', 0], ['elements', '0'], ['sparse', 5], ['frozen', 'a'], ['array', 'length'], ['text', 'length'], ['later', 'a']]) {
        assert.throws(() => read(name, key), expect.invalid('Property is getter'), `${where}: ${name}.${key}`);
      }
      for (const [name, key, value] of [
        ['dictionary', 'k6', 6], ['elements', 1, 2], ['sparse', 9_000_000, 1], ['frozen', 'b', 2], ['array', 0, 1], ['text', 0, 'x'], ['text', '2', 'z'], ['bytes', 0, 7],
        ['bytes', 1, undefined], ...['array', 'error', 'text', 'bytes', 'before', 'replaced'].map((kind) => [kind, 'a', 2]),
      ]) assert.equal(read(name, key), value, `${where}: ${name}.${key}`);
    }
  });

  test('getters of the global object are getters', ({ open }) => {
    const { context } = open();
    context.evalSync('Object.defineProperty(globalThis, "computed", { get() { throw new Error("a getter ran"); }, configurable: true }); var declared = 1; globalThis.assigned = 2;');
    assert.throws(() => context.global.getSync('computed'), expect.invalid('Property is getter'));
    assert.same(['declared', 'assigned', 'none'].map((name) => context.global.getSync(name)), [1, 2, undefined]);
    context.global.setSync('computed', 3);
    assert.equal(context.global.getSync('computed'), 3);
  });

  test('errors of getters are thrown', ({ open }) => {
    for (const [where, reference] of both(open, '({ get a() { throw new RangeError("got") } })')) {
      assert.throws(() => reference.getSync('a', { accessors: true }), expect.thrown(RangeError, 'got'), where);
    }
  });

  test('proxies are rejected anywhere in the prototype chain', async ({ open }) => {
    const references = both(open, '({ direct: new Proxy({ a: 1 }, {}), inherited: Object.create(new Proxy({ a: 1 }, {}), { own: { value: 1 } }) })');
    const targets = references.flatMap(([where, reference]) => ['direct', 'inherited'].map((name) => [where, reference.getSync(name, { reference: true })]));
    const proxy = expect.invalid('Object is or has proxy');
    for (const [where, target] of targets) {
      assert.throws(() => target.getSync('own'), proxy, where);
      assert.throws(() => target.getSync('own', { accessors: true }), proxy, where);
      assert.throws(() => target.setSync('own', 1), proxy, where);
      assert.throws(() => target.deleteSync('own'), proxy, where);
    }
    for (const [where, target] of targets) await assert.rejects(target.get('own'), proxy, where);
  });

  const SETTERS = 'Object.create({ set inherited(value) { throw new Error("setter ran") } }, { own: { get() {}, set() { throw new Error("setter ran") }, configurable: true } })';

  test('setSync deletes, then defines', ({ open }) => {
    for (const [where, reference] of both(open, SETTERS)) {
      assert.equal(reference.setSync('own', 1), undefined, where);
      assert.equal(reference.getSync('own'), 1, where);
      reference.setSync('inherited', 2);
      assert.equal(reference.getSync('inherited'), 2, where);
      reference.setSync(7, { a: [1] }, { copy: true });
      assert.same(reference.getSync('7', { copy: true }), { a: [1] }, where);
    }
  });

  test('set and setIgnored', async ({ open }) => {
    for (const [where, reference] of both(open, SETTERS)) {
      assert.equal(await reference.set('inherited', 2), undefined, where);
      assert.equal(await reference.get('inherited'), 2, where);
      assert.equal(reference.setIgnored('later', 3), undefined, where);
      assert.equal(await reference.get('later'), 3, where);
      assert.equal(await reference.set('copied', { a: 1 }, { copy: true }), undefined, where);
      assert.same(await reference.get('copied', { copy: true }), { a: 1 }, where);
    }
  });

  test('set rejects values that cannot be transferred', async ({ open }) => {
    const refused = expect.transfer('A non-transferable value was passed');
    const references = both(open, '({})');
    for (const [where, reference] of references) {
      for (const value of [{}, [], Symbol('s')]) {
        assert.throws(() => reference.setSync('bad', value), refused, where);
        assert.throws(() => reference.setIgnored('bad', value), refused, where);
      }
      assert.equal(reference.getSync('bad'), undefined, where);
    }
    for (const [where, reference] of references) await assert.rejects(reference.set('bad', {}), refused, where);
  });

  test('set accepts transfer options', ({ open }) => {
    for (const [where, reference] of both(open, '({})')) {
      const value = { n: 1 };
      reference.setSync('reference', value, { reference: true });
      assert.equal(reference.getSync('reference').deref(), value, where);
      reference.setSync('external', value, { externalCopy: true });
      assert.same(reference.getSync('external').copy(), value, where);
    }
  });

  test('deleteSync, delete and deleteIgnored', async ({ open }) => {
    const references = both(open, '({ a: 1, b: 2, c: 3 })');
    for (const [where, reference] of references) {
      assert.equal(reference.deleteSync('a'), undefined, where);
      assert.equal(reference.getSync('a'), undefined, where);
      assert.equal(reference.deleteSync('missing'), undefined, where);
    }
    for (const [where, reference] of references) {
      assert.equal(await reference.delete('b'), undefined, where);
      assert.equal(reference.deleteIgnored('c'), undefined, where);
      assert.same(await reference.copy(), {}, where);
    }
  });

  test('frozen targets', async ({ open }) => {
    const references = both(open, 'Object.freeze({ a: 1 })');
    for (const [where, reference] of references) {
      assert.throws(() => reference.setSync('a', 2), expect.invalid('Set failed'), where);
      assert.throws(() => reference.deleteSync('a'), expect.invalid('Delete failed'), where);
      assert.equal(reference.getSync('a'), 1, where);
    }
    for (const [where, reference] of references) {
      await assert.rejects(reference.set('b', 2), expect.invalid('Set failed'), where);
      await assert.rejects(reference.delete('a'), expect.invalid('Delete failed'), where);
    }
  });

  test('keys are names and unsigned 32-bit integers', async ({ open }) => {
    const references = both(open, '({ "": "empty", 4294967295: "last" })');
    const invalid = expect.invalid('Invalid `key`');
    for (const [where, reference] of references) {
      for (const key of KEYS) {
        assert.throws(() => reference.getSync(key), invalid, where);
        assert.throws(() => reference.setSync(key, 1), invalid, where);
        assert.throws(() => reference.setIgnored(key, 1), invalid, where);
        assert.throws(() => reference.deleteSync(key), invalid, where);
        assert.throws(() => reference.deleteIgnored(key), invalid, where);
      }
      assert.equal(reference.getSync(''), 'empty', where);
      assert.equal(reference.getSync(2 ** 32 - 1), 'last', where);
    }
    for (const [where, reference] of references) {
      for (const key of KEYS) {
        await assert.rejects(reference.get(key), invalid, where);
        await assert.rejects(reference.set(key, 1), invalid, where);
        await assert.rejects(reference.delete(key), invalid, where);
      }
    }
  });

  test('only objects have properties', async ({ open }) => {
    const { context } = open();
    const refused = expect.invalid('Reference is not an object');
    const references = ['(() => 1)', '1', '"text"', 'null', 'undefined'].flatMap((code) => [context.evalSync(code, { reference: true }), new ivm.Reference(made(code))]);
    for (const reference of references) {
      assert.throws(() => reference.getSync('a'), refused);
      assert.throws(() => reference.setSync('a', 1), refused);
      assert.throws(() => reference.setIgnored('a', 1), refused);
      assert.throws(() => reference.deleteSync('a'), refused);
      assert.throws(() => reference.deleteIgnored('a'), refused);
    }
    for (const reference of references) {
      await assert.rejects(reference.get('a'), refused);
      await assert.rejects(reference.set('a', 1), refused);
      await assert.rejects(reference.delete('a'), refused);
    }
  });

  test('unsafeInherit sees prototypes, and so do the References it gives', () => {
    const middle = Object.create({ foo: 1 }, { bar: { value: 2 } });
    const value = Object.create(middle, { own: { value: middle } });
    const plain = new ivm.Reference(value);
    assert.equal(plain.getSync('bar'), undefined);
    assert.equal(plain.getSync('own').getSync('foo'), undefined);
    const inherit = new ivm.Reference(value, { unsafeInherit: true });
    assert.equal(inherit.getSync('bar'), 2);
    assert.equal(inherit.getSync('foo'), 1);
    assert.equal(inherit.getSync('own').getSync('foo'), 1);
    const getter = new ivm.Reference(Object.create({ get a() { return 1; } }), { unsafeInherit: true });
    assert.throws(() => getter.getSync('a'), expect.invalid('Property is getter'));
    assert.equal(getter.getSync('a', { accessors: true }), 1);
  });

  test('unsafeInherit is kept when the Reference is transferred', async ({ open }) => {
    const { context } = open();
    context.global.setSync('reference', new ivm.Reference(Object.create({ foo: 1 }), { unsafeInherit: true }));
    context.global.setSync('plain', new ivm.Reference(Object.create({ foo: 1 })));
    assert.same(context.evalSync('[reference.getSync("foo"), plain.getSync("foo")]', { copy: true }), [1, undefined]);
    assert.equal(await context.eval('reference.get("foo")', { promise: true }), 1);
  });
};
