// `Reference`: to values of this realm, and to values of an isolate.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { failure, ivm, ours, withContext } from '../../api/ivm.mjs';

const RELEASED = failure(Error, 'Reference has been released');

/** The value of the guest's code, evaluated in this realm. */
const made = (code) => new Function(`return (${code})`)();

/** The same value behind a Reference of this realm and behind one to an isolate. */
function onBothSides(code, body) {
  return withContext(async ({ context }) => {
    await body(context.evalSync(code, { reference: true }), 'guest');
    await body(new ivm.Reference(made(code)), 'host');
  });
}

test('typeof', () => {
  const cases = [
    [undefined, 'undefined'], [null, 'null'], [true, 'boolean'], [1, 'number'], ['a', 'string'], [Symbol('s'), 'object'],
    [1n, 'object'], [{}, 'object'], [() => {}, 'function'],
  ];
  for (const [value, name] of cases) assert.equal(new ivm.Reference(value).typeof, name);
});

test('get: own properties; objects arrive as References', () => onBothSides(
  '({ a: 1, o: { b: 2 }, f(x) { return x + 1 }, 3: "three", u: undefined })',
  async (reference, side) => {
    assert.equal(reference.getSync('a'), 1, side);
    assert.equal(await reference.get('a'), 1, side);
    assert.equal(reference.getSync(3), 'three', side);
    assert.equal(reference.getSync('3'), 'three', side);
    assert.equal(reference.getSync('u'), undefined, side);
    assert.equal(reference.getSync('missing'), undefined, side);
    assert.equal(reference.getSync('toString'), undefined, side);
    const inner = reference.getSync('o');
    assert.ok(inner instanceof ivm.Reference, side);
    assert.equal(inner.getSync('b'), 2, side);
    assert.deepEqual(reference.getSync('o', { copy: true }), { b: 2 }, side);
    assert.deepEqual((await reference.get('o', { externalCopy: true })).copy(), { b: 2 }, side);
    assert.equal(reference.getSync('a', { reference: true }).typeof, 'number', side);
    assert.deepEqual(await reference.getSync('o', { copy: true, promise: true }), { b: 2 }, side);
    assert.equal(reference.getSync('f')(4), 5, side);
    assert.equal(reference.getSync('f', { reference: true }).applySync(undefined, [5]), 6, side);
  },
));

test('get refuses getters unless `accessors` is set', () => onBothSides(
  '({ get a() { return 5 }, list: [1, 2] })',
  async (reference, side) => {
    const getter = failure(TypeError, 'Property is getter');
    assert.throws(() => reference.getSync('a'), getter, side);
    await assert.rejects(reference.get('a'), getter, side);
    assert.throws(() => reference.getSync('list').getSync('length'), getter, side);
    assert.equal(reference.getSync('list').getSync(1), 2, side);
    assert.equal(reference.getSync('a', { accessors: true }), 5, side);
    assert.equal(reference.getSync('list').getSync('length', { accessors: true }), 2, side);
  },
));

test('proxies are refused anywhere in the prototype chain', () => onBothSides(
  '({ direct: new Proxy({ a: 1 }, {}), inherited: Object.create(new Proxy({ a: 1 }, {}), { own: { value: 1 } }) })',
  async (reference, side) => {
    const proxy = failure(TypeError, 'Object is or has proxy');
    for (const name of ['direct', 'inherited']) {
      const target = reference.getSync(name, { reference: true });
      assert.throws(() => target.getSync('own'), proxy, side);
      assert.throws(() => target.getSync('own', { accessors: true }), proxy, side);
      assert.throws(() => target.setSync('own', 1), proxy, side);
      assert.throws(() => target.deleteSync('own'), proxy, side);
      await assert.rejects(target.get('own'), proxy, side);
    }
  },
));

test('set defines the property', () => onBothSides(
  'Object.create({ set inherited(value) { throw new Error("setter ran") } }, { own: { get() {}, set() { throw new Error("setter ran") }, configurable: true } })',
  async (reference, side) => {
    assert.equal(reference.setSync('own', 1), undefined, side);
    assert.equal(reference.getSync('own'), 1, side);
    assert.equal(await reference.set('inherited', 2), undefined, side);
    assert.equal(reference.getSync('inherited'), 2, side);
    reference.setSync(7, { a: [1] }, { copy: true });
    assert.deepEqual(reference.getSync('7', { copy: true }), { a: [1] }, side);
    assert.equal(reference.setIgnored('later', 3), undefined, side);
    assert.equal(await reference.get('later'), 3, side);
    assert.throws(() => reference.setSync('bad', {}), failure(TypeError, 'A non-transferable value was passed'), side);
    assert.throws(() => reference.setIgnored('bad', {}), failure(TypeError, 'A non-transferable value was passed'), side);
    await assert.rejects(reference.set('bad', Symbol('s')), failure(TypeError, 'A non-transferable value was passed'), side);
    assert.equal(reference.getSync('bad'), undefined, side);
    assert.throws(() => reference.setSync('own', {}), failure(TypeError, 'A non-transferable value was passed'), side);
    assert.equal(reference.getSync('own'), 1, side);
  },
));

test('set keeps the place of a property among the keys', ours, () => onBothSides(
  '({ a: 1, get b() { return 2 }, c: 3, keys() { return Object.keys(this).join() } })',
  async (reference, side) => {
    const keys = reference.getSync('keys', { reference: true });
    for (const key of ['b', 'a', 'd']) reference.setSync(key, 4);
    assert.equal(keys.applySync(reference.derefInto(), [], { timeout: 10_000 }), 'a,b,c,keys,d', side);
  },
));

test('delete', () => onBothSides('({ a: 1, b: 2, c: 3 })', async (reference, side) => {
  assert.equal(reference.deleteSync('a'), undefined, side);
  assert.equal(reference.getSync('a'), undefined, side);
  assert.equal(await reference.delete('b'), undefined, side);
  assert.equal(reference.deleteIgnored('c'), undefined, side);
  assert.deepEqual(await reference.copy(), {}, side);
  assert.equal(reference.deleteSync('missing'), undefined, side);
}));

test('frozen targets', () => onBothSides('Object.freeze({ a: 1 })', async (reference, side) => {
  assert.throws(() => reference.setSync('a', 2), failure(TypeError, 'Set failed'), side);
  assert.throws(() => reference.deleteSync('a'), failure(TypeError, 'Delete failed'), side);
  await assert.rejects(reference.set('b', 2), failure(TypeError, 'Set failed'), side);
  assert.equal(reference.getSync('a'), 1, side);
}));

test('keys are names and unsigned 32-bit integers', () => onBothSides('({ "": "empty", 4294967295: "last" })', async (reference, side) => {
  const invalid = failure(TypeError, 'Invalid `key`');
  for (const key of [-1, 1.5, -0, 2 ** 32, Number.NaN, {}, [], Symbol.iterator, true, null, undefined, 1n]) {
    assert.throws(() => reference.getSync(key), invalid, side);
    assert.throws(() => reference.setSync(key, 1), invalid, side);
    assert.throws(() => reference.deleteIgnored(key), invalid, side);
    await assert.rejects(reference.get(key), invalid, side);
  }
  assert.equal(reference.getSync(''), 'empty', side);
  assert.equal(reference.getSync(2 ** 32 - 1), 'last', side);
}));

test('numbers of arguments', () => {
  const reference = new ivm.Reference({});
  const one = failure(TypeError, '`undefined` requires at least 1 parameter');
  const two = failure(TypeError, '`undefined` requires at least 2 parameters');
  for (const method of ['get', 'getSync', 'delete', 'deleteSync', 'deleteIgnored']) assert.throws(() => reference[method](), one, method);
  for (const method of ['set', 'setSync', 'setIgnored']) {
    assert.throws(() => reference[method](), two, method);
    assert.throws(() => reference[method]('a'), two, method);
    assert.throws(() => reference[method]('a', 1, 1), failure(TypeError, '`undefined` requires parameter 3 to be an object'), method);
  }
  for (const method of ['apply', 'applySync', 'applyIgnored', 'applySyncPromise']) {
    assert.throws(() => reference[method](undefined, 1), failure(TypeError, '`undefined` requires parameter 2 to be an array'), method);
    assert.throws(() => reference[method](undefined, [], 1), failure(TypeError, '`undefined` requires parameter 3 to be an object'), method);
  }
  assert.throws(() => reference.deref(1), failure(TypeError, '`undefined` requires parameter 1 to be an object'));
  assert.throws(() => reference.derefInto(1), failure(TypeError, '`undefined` requires parameter 1 to be an object'));
  assert.throws(() => reference.deref({ release: 1 }), failure(TypeError, '`release` must be a boolean'));
});

test('only objects have properties', () => withContext(async ({ context }) => {
  const refused = failure(TypeError, 'Reference is not an object');
  for (const code of ['(() => 1)', '1', '"text"', 'null', 'undefined']) {
    const guest = context.evalSync(code, { reference: true });
    const host = new ivm.Reference(made(code));
    for (const reference of [guest, host]) {
      assert.throws(() => reference.getSync('a'), refused, code);
      assert.throws(() => reference.setSync('a', 1), refused, code);
      assert.throws(() => reference.deleteSync('a'), refused, code);
      await assert.rejects(reference.get('a'), refused, code);
    }
  }
}));

test('unsafeInherit sees prototypes, and so do the References it gives', () => {
  const base = { foo: 1 };
  const middle = Object.create(base, { bar: { value: 2 } });
  const value = Object.create(middle, { own: { value: middle } });
  const plain = new ivm.Reference(value);
  assert.equal(plain.getSync('bar'), undefined);
  assert.equal(plain.getSync('own').getSync('foo'), undefined);
  const inherit = new ivm.Reference(value, { unsafeInherit: true });
  assert.equal(inherit.getSync('bar'), 2);
  assert.equal(inherit.getSync('foo'), 1);
  assert.equal(inherit.getSync('own').getSync('foo'), 1);
  const getter = new ivm.Reference(Object.create({ get a() { return 1; } }), { unsafeInherit: true });
  assert.throws(() => getter.getSync('a'), failure(TypeError, 'Property is getter'));
  assert.throws(() => new ivm.Reference({}, { unsafeInherit: 1 }), failure(TypeError, '`unsafeInherit` must be a boolean'));
});

test('apply', () => onBothSides('(function (a, b) { "use strict"; return a === undefined ? typeof this : a + b })', async (reference, side) => {
  assert.equal(reference.applySync(undefined, [1, 2]), 3, side);
  assert.equal(await reference.apply(undefined, [1, 2]), 3, side);
  assert.equal(reference.applySync(), 'undefined', side);
  assert.equal(reference.applySync(null, null, null), 'object', side);
  assert.equal(reference.applySync(5, []), 'number', side);
  assert.equal(reference.applyIgnored(undefined, [1, 2]), undefined, side);
  assert.throws(() => reference.applySync({}, []), failure(TypeError, 'A non-transferable value was passed'), side);
  assert.throws(() => reference.applySync(undefined, [{}]), failure(TypeError, 'A non-transferable value was passed'), side);
  await assert.rejects(reference.apply(undefined, [{}]), failure(TypeError, 'A non-transferable value was passed'), side);
  assert.throws(() => reference.applyIgnored(undefined, [{}]), failure(TypeError, 'A non-transferable value was passed'), side);
  await assert.rejects(reference.apply(undefined, [], { timeout: 'x' }), failure(TypeError, '`timeout` must be a 32-bit number'), side);
  assert.throws(() => reference.applyIgnored(undefined, [], { timeout: 'x' }), failure(TypeError, '`timeout` must be a 32-bit number'), side);
}));

test('apply: results that are not transferable arrive as References', () => onBothSides('((value) => [value])', async (reference, side) => {
  const result = reference.applySync(undefined, [1]);
  assert.ok(result instanceof ivm.Reference, side);
  assert.equal(result.getSync(0), 1, side);
  assert.ok(await reference.apply(undefined, [1]) instanceof ivm.Reference, side);
  const copies = { arguments: { copy: true }, result: { copy: true } };
  assert.deepEqual(reference.applySync(undefined, [{ a: 1 }], copies), [{ a: 1 }], side);
  assert.deepEqual(await reference.apply(undefined, [{ a: 1 }], copies), [{ a: 1 }], side);
  assert.deepEqual(reference.applySync(undefined, [1], { result: { externalCopy: true } }).copy(), [1], side);
}));

test('apply: many arguments', () => onBothSides('((...all) => all.reduce((a, b) => a + b, 0))', (reference, side) => {
  for (const count of [0, 1, 2, 3, 4, 5, 8, 100]) {
    assert.equal(reference.applySync(undefined, Array.from({ length: count }, () => 1)), count, side);
  }
}));

test('apply: more arguments than there can be', ours, () => withContext(async ({ context }) => {
  const refused = { name: 'RangeError', code: 'ERR_ISOLATE_LIMIT', message: 'A call has more than 1000000 arguments' };
  const list = [];
  list.length = 4_294_967_295;
  const reference = context.evalSync('(function () { return arguments.length })', { reference: true });
  for (const each of [reference, new ivm.Reference(() => 0)]) {
    assert.throws(() => each.applySync(undefined, list), refused);
    await assert.rejects(each.apply(undefined, list), refused);
  }
  assert.throws(() => context.evalClosureSync('', list), refused);
  const code = 'try { $0.applySync(undefined, list) } catch ({ name, message, code }) { return JSON.stringify({ name, message, code }) }';
  assert.deepEqual(JSON.parse(context.evalClosureSync(`const list = []; list.length = 4_294_967_295; ${code}`, [reference])), refused);
}));

test('apply: promises', () => onBothSides('(async (value) => ({ value }))', async (reference, side) => {
  assert.deepEqual(await reference.apply(undefined, [1], { result: { promise: true, copy: true } }), { value: 1 }, side);
  assert.deepEqual(await reference.applySync(undefined, [1], { result: { promise: true, copy: true } }), { value: 1 }, side);
  assert.equal((await reference.apply(undefined, [1])).typeof, 'object', side);
}));

test('only functions can be applied', () => onBothSides('({})', async (reference, side) => {
  const refused = failure(TypeError, 'Reference is not a function');
  assert.throws(() => reference.applySync(), refused, side);
  await assert.rejects(reference.apply(), refused, side);
}));

test('errors of an applied function are thrown', () => onBothSides('(() => { throw new RangeError("thrown") })', async (reference, side) => {
  assert.throws(() => reference.applySync(), { name: 'RangeError', message: 'thrown' }, side);
  await assert.rejects(reference.apply(), { name: 'RangeError', message: 'thrown' }, side);
}));

test('applySyncPromise is for guests', () => withContext(({ context }) => {
  const refused = failure(Error, 'This function may not be called from the default thread');
  assert.throws(() => new ivm.Reference(() => 1).applySyncPromise(), refused);
  assert.throws(() => context.evalSync('() => 1', { reference: true }).applySyncPromise(), refused);
}));

test('copy', () => onBothSides('({ a: new Map([[1, { b: 2 }]]), s: "text" })', async (reference, side) => {
  assert.deepEqual(reference.copySync(), { a: new Map([[1, { b: 2 }]]), s: 'text' }, side);
  assert.deepEqual(await reference.copy(), { a: new Map([[1, { b: 2 }]]), s: 'text' }, side);
  assert.notEqual(reference.copySync(), reference.copySync(), side);
}));

test('copy refuses what cannot be cloned', () => onBothSides('(() => 1)', async (reference, side) => {
  assert.throws(() => reference.copySync(), failure(TypeError, '() => 1 could not be cloned.'), side);
  await assert.rejects(reference.copy(), failure(TypeError, '() => 1 could not be cloned.'), side);
}));

test('deref returns the value itself in its own isolate', () => withContext(({ context }) => {
  const value = {};
  assert.equal(new ivm.Reference(value).deref(), value);
  assert.throws(() => context.global.deref(), failure(TypeError, 'Cannot dereference this from current isolate'));
  const once = new ivm.Reference(value);
  assert.equal(once.deref({ release: true }), value);
  assert.throws(() => once.deref(), RELEASED);
}));

test('limits of a call that a guest makes in its own isolate', async () => {
  await withContext(async ({ context }) => {
    context.global.setSync('ivm', ivm);
    const prelude = `
      globalThis.seen = [];
      var spin = new ivm.Reference(() => { try { for (;;); } finally { seen.push('finally'); } });
      var caught = (call) => { try { return call(); } catch (error) { return error.code; } };`;
    assert.equal(context.evalSync(`${prelude} caught(() => spin.applySync(undefined, [], { deadline: 20 }))`), 'ERR_ISOLATE_DEADLINE');
    assert.equal(context.evalSync(`${prelude} caught(() => spin.applySync(undefined, [], { timeout: 20 })) + seen.length`), 'ERR_ISOLATE_TIMEOUT0');
    const outer = () => context.evalSync(`${prelude} caught(() => spin.applySync(undefined, [], { timeout: 60_000 })); seen.push('after')`, { timeout: 50 });
    assert.throws(outer, { code: 'ERR_ISOLATE_TIMEOUT' });
    assert.equal(context.evalSync('seen.length'), 0);
    const thrown = `${prelude} var value = {}; caught(() => { try { new ivm.Reference(() => { throw value; }).applySync(undefined, [], { timeout: 1000 }); } catch (error) { return error === value; } })`;
    assert.equal(context.evalSync(thrown), true);
    const later = `${prelude} spin.apply(undefined, [], { timeout: 20 }).then(() => 'none', (error) => error.code)`;
    assert.equal(await context.eval(later, { promise: true }), 'ERR_ISOLATE_TIMEOUT');
    // The asynchronous call on whose behalf it runs continues.
    context.global.setSync('here', context);
    const inner = 'try { here.evalSync("for (;;);", { timeout: 20 }); } catch (error) { return error.code; }';
    assert.equal(await context.eval(`Promise.resolve().then(() => { ${inner} })`, { promise: true }), 'ERR_ISOLATE_TIMEOUT');
    const nested = `${prelude}
      var inner = new ivm.Reference(() => caught(() => spin.applySync(undefined, [], { timeout: 60_000 })));
      caught(() => inner.applySync(undefined, [], { timeout: 30 }))`;
    assert.equal(context.evalSync(nested), 'ERR_ISOLATE_TIMEOUT');
  });
});

test('derefInto passes the value itself to its isolate', () => withContext(({ context }) => {
  const object = context.evalSync('globalThis.object = { a: 1 }', { reference: true });
  assert.equal(context.evalClosureSync('return $0 === object', [object.derefInto()]), true);
  context.global.setSync('again', object.derefInto({ release: true }));
  assert.equal(context.evalSync('again === object'), true);
  assert.throws(() => object.typeof, RELEASED);
  const inner = {};
  const same = new ivm.Reference((value) => value === inner);
  assert.equal(same.applySync(undefined, [new ivm.Reference(inner).derefInto()]), true);
}));

test('derefInto is valid for one use in one isolate', () => withContext(({ context }) => {
  const used = context.global.derefInto();
  context.global.setSync('self', used);
  assert.equal(context.evalSync('self === globalThis'), true);
  assert.throws(
    () => context.global.setSync('self', used),
    failure(Error, 'The return value of `derefInto()` should only be used once'),
  );
  assert.throws(
    () => context.global.setSync('foreign', new ivm.Reference({}).derefInto()),
    failure(TypeError, 'Cannot dereference this into target isolate'),
  );
}));

test('a dereferenced value can be the receiver', () => withContext(({ context }) => {
  const object = context.evalSync('({ name: "me" })', { reference: true });
  const method = context.evalSync('(function () { return this.name })', { reference: true });
  assert.equal(method.applySync(object.derefInto()), 'me');
}));

test('release', () => onBothSides('({})', async (reference, side) => {
  assert.equal(reference.release(), undefined, side);
  assert.throws(() => reference.release(), RELEASED, side);
  assert.throws(() => reference.typeof, RELEASED, side);
  assert.throws(() => reference.deref(), RELEASED, side);
  assert.throws(() => reference.derefInto(), RELEASED, side);
}));

test('a released Reference refuses calls', ours, () => onBothSides('({})', async (reference, side) => {
  reference.release();
  assert.throws(() => reference.getSync('a'), RELEASED, side);
  assert.throws(() => reference.setSync('a', 1), RELEASED, side);
  assert.throws(() => reference.applySync(), RELEASED, side);
  assert.throws(() => reference.copySync(), { code: 'ERR_ISOLATE_RELEASED' }, side);
  assert.throws(() => reference.setIgnored('a', 1), RELEASED, side);
  await assert.rejects(reference.get('a'), RELEASED, side);
  await assert.rejects(reference.apply(), RELEASED, side);
}));

test('releasing one Reference does not affect others to the same value', () => withContext(({ context }) => {
  const value = { a: 1 };
  const first = new ivm.Reference(value);
  context.global.setSync('kept', first);
  first.release();
  assert.equal(context.global.getSync('kept').deref(), value);
}));

test('dispose() is an alias of release()', ours, () => {
  const reference = new ivm.Reference({});
  reference.dispose();
  assert.throws(() => reference.typeof, RELEASED);
});

test('a Reference to a Callback applies its function', ours, () => withContext(async ({ context }) => {
  const reference = new ivm.Reference(new ivm.Callback(async (value) => ({ value })));
  assert.equal(reference.typeof, 'function');
  assert.deepEqual(await reference.apply(undefined, [1], { result: { promise: true, copy: true } }), { value: 1 });
  const result = await context.evalClosure(
    'return $0.apply(undefined, [2], { result: { promise: true, copy: true } })',
    [new ivm.Callback(async (value) => ({ value }))],
    { arguments: { reference: true }, result: { promise: true, copy: true } },
  );
  assert.deepEqual(result, { value: 2 });
}));

test('guests use References of the host', () => withContext(async ({ context }) => {
  const log = [];
  context.global.setSync('log', new ivm.Reference((...all) => log.push(all.join())));
  assert.equal(context.evalSync('log.applySync(undefined, [1, "a"])'), 1);
  context.evalSync('log.applyIgnored(undefined, ["ignored"])');
  const length = await context.eval('log.apply(undefined, ["async"])', { promise: true });
  assert.ok(length >= 2);
  assert.equal(log[0], '1,a');
  assert.ok(log.includes('ignored') && log.includes('async'));
}));

test('applySyncPromise waits for the host', () => withContext(async ({ context }) => {
  const wait = new ivm.Reference(async (value) => {
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
    return value * 2;
  });
  assert.equal(await context.evalClosure('return $0.applySyncPromise(undefined, [21])', [wait]), 42);
  const object = new ivm.Reference(async () => new ivm.ExternalCopy({ a: 1 }).copyInto());
  assert.deepEqual(await context.evalClosure('return $0.applySyncPromise()', [object], { result: { copy: true } }), { a: 1 });
  const failing = new ivm.Reference(async () => {
    throw new RangeError('not today');
  });
  await assert.rejects(context.evalClosure('return $0.applySyncPromise()', [failing]), failure(RangeError, 'not today'));
  const bare = new ivm.Reference(async () => ({}));
  await assert.rejects(
    context.evalClosure('return $0.applySyncPromise()', [bare]), failure(TypeError, 'A non-transferable value was passed'),
  );
  assert.throws(
    () => context.evalClosureSync('return $0.applySyncPromise()', [wait]),
    failure(Error, 'This function may not be called from the default thread'),
  );
}));

test('a missing property is undefined, transferred as requested', () => withContext(async ({ context }) => {
  const held = context.evalSync('({})', { reference: true });
  for (const reference of [held, new ivm.Reference({})]) {
    assert.equal(reference.getSync('none'), undefined);
    assert.equal(reference.getSync('none', { reference: true }).typeof, 'undefined');
    assert.equal(reference.getSync('none', { externalCopy: true }).copy(), undefined);
    const promise = reference.getSync('none', { promise: true });
    assert.ok(promise instanceof Promise);
    assert.equal(await promise, undefined);
  }
}));
