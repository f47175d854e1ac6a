// Recognition of values: by brand, with each property read once, and refusals with V8's messages.

/* oxlint-disable no-sparse-arrays, no-extend-native -- holes travel, too, and prototypes are not to be trusted */

import assert from 'node:assert';
import { test } from 'node:test';
import { types } from 'node:util';
import { arrived, CARRIER, cloned, difference, encoding, hex, read, Reader, readHooks, write } from '../../wire/helper.mjs';

const disguises = {
  'prototype of Object': (object) => Object.setPrototypeOf(object, Object.prototype),
  'no prototype': (object) => Object.setPrototypeOf(object, null),
  'prototype of Map': (object) => Object.setPrototypeOf(object, Map.prototype),
  'prototype of a class': (object) => Object.setPrototypeOf(object, (class Disguise {}).prototype),
  'a lying tag': (object) => Object.defineProperty(object, Symbol.toStringTag, { get() { throw new Error('the tag was read'); } }),
  'an own property': (object) => Object.assign(object, { own: 1 }),
};

const branded = {
  Date: [() => new Date(5), types.isDate],
  Map: [() => new Map([[1, 2]]), types.isMap],
  Set: [() => new Set([1]), types.isSet],
  RegExp: [() => /a/g, types.isRegExp],
  Error: [() => new Error('m'), types.isNativeError],
  Boolean: [() => new Boolean(true), types.isBooleanObject],
  Number: [() => new Number(1), types.isNumberObject],
  String: [() => new String('s'), types.isStringObject],
  BigInt: [() => Object(1n), types.isBigIntObject],
  ArrayBuffer: [() => new ArrayBuffer(2), types.isArrayBuffer],
  SharedArrayBuffer: [() => new SharedArrayBuffer(2), types.isSharedArrayBuffer],
  Uint8Array: [() => new Uint8Array(2), types.isUint8Array],
  DataView: [() => new DataView(new ArrayBuffer(2)), types.isDataView],
  Array: [() => [1, 2], Array.isArray],
};
for (const [name, [make, is]] of Object.entries(branded)) {
  for (const [disguise, wear] of Object.entries(disguises)) {
    test(`${name} with ${disguise} keeps its type`, () => {
      assert.strictEqual(is(cloned(wear(make()))), true);
    });
  }
}

test('an object with enumerable properties, whose prototype was replaced, is a plain object', () => {
  for (const make of [() => new Map([[1, 2]]), () => new Set(), () => new ArrayBuffer(2), () => Promise.resolve(), () => Object(1n)]) {
    for (const prototype of [Object.prototype, null]) {
      const object = Object.assign(Object.setPrototypeOf(make(), prototype), { a: 1 });
      assert.strictEqual(difference({ a: 1 }, cloned(object)), undefined);
    }
  }
});

test('objects that imitate other types are plain objects', () => {
  for (const pretended of [Date, Map, Set, RegExp, Error, ArrayBuffer, Uint8Array, Promise, Number].map(({ prototype }) => prototype)) {
    const received = cloned(Object.assign(Object.create(pretended), { a: 1 }));
    assert.strictEqual(difference({ a: 1 }, received), undefined);
    assert.strictEqual(Object.getPrototypeOf(received), Object.prototype);
  }
  assert.strictEqual(difference({}, cloned({ [Symbol.toStringTag]: 'Map' })), undefined);
});

const refused = {
  'a promise': Promise.resolve(),
  'a weak map': new WeakMap(),
  'a weak set': new WeakSet(),
  'a generator': (function* () {})(),
  'arguments': (function () { return arguments; })(1),
  'an iterator of a map': new Map().keys(),
  'an iterator of a set': new Set().values(),
  'a boxed symbol': Object(Symbol('s')),
};
for (const [name, object] of Object.entries(refused)) {
  test(`${name} is refused, whatever its prototype`, () => {
    for (const wear of [(same) => same, disguises['no prototype'], disguises['a lying tag']]) {
      assert.throws(() => write({ inside: [wear(object)] }), { name: 'TypeError', message: / could not be cloned\.$/ });
    }
  });
}

test('other values that V8 refuses', () => {
  const things = [
    new WeakRef({}), new FinalizationRegistry(() => {}), new Intl.NumberFormat(), [].values(), ''[Symbol.iterator](), 'a'.matchAll(/a/g), globalThis,
    new WebAssembly.Memory({ initial: 1 }), (async function* () {})(), ...(globalThis.Temporal ? [globalThis.Temporal.Now.instant()] : []),
  ];
  for (const thing of things) assert.throws(() => write(thing), { name: 'TypeError', message: / could not be cloned\.$/ });
});

test('errors have V8\'s messages', () => {
  const words = (value) => {
    try {
      write(value);
    } catch (error) {
      assert.ok(error instanceof TypeError);
      return error.message;
    }
    return 'nothing was refused';
  };
  assert.strictEqual(words(Promise.resolve()), '#<Promise> could not be cloned.');
  assert.strictEqual(words(() => 1), '() => 1 could not be cloned.');
  assert.strictEqual(words(Symbol('x')), 'Symbol(x) could not be cloned.');
  assert.strictEqual(words(Symbol('y'.repeat(200))), `Symbol(${'y'.repeat(56)}...<omitted>...${'y'.repeat(56)}) could not be cloned.`);
  assert.strictEqual(words(new WeakMap()), '#<WeakMap> could not be cloned.');
  assert.strictEqual(words(new Proxy({}, {})), '#<Object> could not be cloned.');
  assert.strictEqual(words(new Proxy([], {})), '[object Array] could not be cloned.');
  assert.strictEqual(words(Object(Symbol('s'))), '[object Symbol] could not be cloned.');
});

test('refusing a value runs no code of it', () => {
  const loud = () => { throw new Error('code of the value ran'); };
  const promise = Object.defineProperties(Promise.resolve(), {
    toString: { get: loud }, constructor: { get: loud }, [Symbol.toStringTag]: { get: loud },
  });
  assert.throws(() => write(promise), { message: '[object Object] could not be cloned.' });
  const traps = new Proxy({}, { get: () => loud });
  assert.throws(() => write(new Proxy({}, traps)), { message: '#<Object> could not be cloned.' });
  assert.strictEqual(difference({}, cloned(Object.create(new Proxy({}, traps)))), undefined);
});

test('a proxy in the prototype chain is not called', () => {
  const seen = [];
  const spy = new Proxy({}, {
    get: (_, trap) => {
      seen.push(trap);
      return trap === 'getPrototypeOf' ? () => null : undefined;
    },
  });
  const object = Object.assign(Object.create(Object.create(new Proxy({}, spy))), { a: 1 });
  seen.length = 0;
  assert.strictEqual(difference({ a: 1 }, cloned(object)), undefined);
  assert.deepStrictEqual(seen.filter((trap) => trap !== 'getPrototypeOf'), []);
});

test('getters run once and their exceptions are thrown', () => {
  let runs = 0;
  assert.deepStrictEqual(cloned({ get once() { return ++runs; } }), { once: 1 });
  assert.strictEqual(runs, 1);
  const thrown = { not: 'an error' };
  assert.throws(() => write([{ get fails() { throw thrown; } }]), (error) => error === thrown);
  const array = Object.defineProperty([1, 2, 3], 1, { get() { return ++runs; }, enumerable: true });
  assert.deepStrictEqual(cloned(array), [1, 2, 3]);
  assert.strictEqual(runs, 2);
  assert.deepStrictEqual(cloned({ toJSON: 1, [Symbol.iterator]: 2, valueOf: 3 }), { toJSON: 1, valueOf: 3 });
});

test('a getter can serialize', () => {
  const inner = 'i'.repeat(100_000);
  const value = {
    before: 'b'.repeat(50),
    get nested() { return cloned([inner, { get again() { return write(inner).bytes.length; } }])[1].again; },
    after: 'a'.repeat(50),
  };
  const received = cloned(value);
  assert.ok(received.nested > 100_000);
  assert.deepStrictEqual([received.before, received.after], ['b'.repeat(50), 'a'.repeat(50)]);
});

test('a failed serialization leaves no state', () => {
  const before = hex(write({ a: [1, 'two'] }).bytes);
  assert.throws(() => write(['x'.repeat(5000), Symbol('s')]));
  assert.strictEqual(hex(write({ a: [1, 'two'] }).bytes), before);
});

test('elements that a getter removes become holes', () => {
  const array = [1, { get shrink() { array.length = 2; return 0; } }, 3, 4];
  const received = cloned(array);
  assert.strictEqual(received.length, 4);
  assert.deepStrictEqual(Object.keys(received), ['0', '1']);
});

test('indices and keys of prototypes do not leak in', () => {
  try {
    Array.prototype[1] = 'inherited';
    Object.prototype.polluted = 'inherited';
    const holes = [0, , 2];
    const many = Array.from({ length: 3_000 }, (_, index) => index);
    delete many[1];
    const { bytes } = write({ holes, list: [1, 2], many });
    const received = read(bytes);
    assert.deepStrictEqual([Object.keys(received), Object.keys(received.holes), received.list], [['holes', 'list', 'many'], ['0', '2'], [1, 2]]);
    assert.deepStrictEqual([received.many.length, Object.keys(received.many).length, Object.hasOwn(received.many, 1)], [3_000, 2_999, false]);
    const own = [];
    for (const key of Object.getOwnPropertyNames(received)) own.push(key);
    assert.deepStrictEqual(own, ['holes', 'list', 'many']);
  } finally {
    delete Array.prototype[1];
    delete Object.prototype.polluted;
  }
});

test('a setter of a prototype does not get elements of any kind', () => {
  const kinds = { integers: (index) => index * 300, doubles: (index) => index / 2, dates: (index) => new Date(index), constants: (index) => [null, undefined, true, false][index % 4] };
  for (const [name, element] of Object.entries(kinds)) {
    const { bytes } = write(Array.from({ length: 60 }, (_, index) => element(index)));
    let calls = 0;
    let received;
    Object.defineProperty(Array.prototype, 30, { set() { calls++; }, get: () => 'inherited', configurable: true });
    try {
      received = read(bytes);
    } finally {
      delete Array.prototype[30];
      Array.prototype.length = 0;
    }
    assert.deepStrictEqual([received.length, received[30], received[59], calls], [60, element(30), element(59), 0], name);
  }
});

test('an element that a prototype gets while a value is read does not get elements of it', () => {
  const list = Array.from({ length: 20_000 }, (_, index) => index);
  for (const target of [Array.prototype, Object.prototype]) {
    const { bytes } = write([list, list.map(String)]);
    const reader = new Reader(bytes, [], readHooks);
    while (!(reader.objects[1]?.length > 5_000)) assert.ok(!reader.readUntil(-Infinity));
    let calls = 0;
    Object.defineProperty(target, 15_000, { set() { calls++; }, get: () => 'inherited', configurable: true });
    try {
      while (!reader.readUntil(-Infinity));
    } finally {
      delete target[15_000];
      Array.prototype.length = 0;
    }
    assert.deepStrictEqual([reader.result[0][15_000], reader.result[1][15_000], reader.result[0].length, calls], [15_000, '15000', 20_000, 0]);
  }
});

test('__proto__ is a key like any other', () => {
  const hostile = JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"a":{"__proto__":null}}');
  for (const value of [hostile, Object.assign([], { x: hostile }), new Map([[hostile, hostile]])]) {
    assert.strictEqual(difference(value, cloned(value)), undefined);
  }
  const list = Object.defineProperty([1], '__proto__', { value: { x: 1 }, enumerable: true });
  const received = cloned(list);
  assert.ok(Object.hasOwn(received, '__proto__'));
  assert.strictEqual(Object.getPrototypeOf(received), Array.prototype);
  assert.strictEqual({}.x, undefined);
});

test('objects with many keys have each of them once, in their order', () => {
  const odd = { 10: ['__proto__', { x: 1 }], 40: ['constructor', 2], 60: ['7', 3], 90: ['Ж', 4], 140: ['toString', 5], 150: ['70000', 6] };
  for (const count of [31, 32, 33, 34, 100, 127, 128, 129, 130, 200, 1_100]) {
    for (const prefix of ['many', `many ${count} `]) {
      const object = {};
      for (let index = 0; index < count; index++) {
        const [key, value] = odd[index] ?? [`${prefix}${index}`, index % 3 === 0 ? { index } : index];
        Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
      }
      const { bytes } = write(object);
      // The second time, all keys are known.
      for (const received of [read(bytes), read(bytes)]) {
        assert.strictEqual(difference(object, received), undefined, `${count} keys`);
        assert.deepEqual(Reflect.ownKeys(received), Reflect.ownKeys(object));
      }
      for (const place of [30, 31, 32, 127, count - 2]) {
        const key = Object.keys(object).filter((each) => each !== '__proto__')[Math.min(place, count - 3)];
        // The last key becomes equal to another one of the same length.
        const last = 'z'.repeat(key.length);
        const twice = write({ ...object, [last]: 0 }).bytes;
        const at = Buffer.from(twice.buffer, twice.byteOffset, twice.length).lastIndexOf(last);
        if (!Number.isInteger(+key) && /^[ -~]*$/.test(key)) {
          twice.set(Buffer.from(key), at);
          assert.throws(() => read(twice), /a property twice/, `${count} keys, key ${place} twice`);
        }
      }
    }
  }
});

test('reading runs no setter of a prototype', () => {
  let ran = 0;
  const trap = { get: () => undefined, set() { ran++; }, configurable: true };
  const places = [[Object.prototype, 'a'], [Object.prototype, 'toString'], [Object.prototype, '7'], [Array.prototype, '0'], [Array.prototype, 'extra'], [Error.prototype, 'cause'], [Map.prototype, 'set'], [Set.prototype, 'add']];
  const value = { a: 1, toString: 2, 7: 3, list: Object.assign([4, 5], { extra: 6 }), sparse: [7, , 8], error: new Error('m', { cause: 9 }), map: new Map([[1, 2]]), set: new Set([1]) };
  const many = Array.from({ length: 50 }, () => ({ ...value }));
  const small = write(value);
  const large = write(many);
  const saved = places.map(([object, key]) => [object, key, Object.getOwnPropertyDescriptor(object, key)]);
  let received;
  try {
    for (const [object, key] of places) Object.defineProperty(object, key, trap);
    received = [read(small.bytes), read(large.bytes)];
  } finally {
    for (const [object, key, descriptor] of saved) {
      if (descriptor) Object.defineProperty(object, key, descriptor);
      else delete object[key];
    }
  }
  assert.strictEqual(ran, 0);
  assert.strictEqual(difference(value, received[0]), undefined);
  assert.strictEqual(difference(many, received[1]), undefined);
});

test('object ids are not looked up in a prototype', () => {
  const shared = { x: 1 };
  const seen = [];
  const cases = [
    [[shared, [shared]], 0, { get: () => undefined, set(object) { Reflect.defineProperty(seen, seen.length, { value: object }); } }],
    [[shared, [shared]], 0, { value: 7, writable: false }],
    // The list is 0, the view's buffer 1, the view 2, the shared object 3.
    [[Buffer.from('abc'), shared, [shared]], 1, { value: shared, writable: true }],
  ];
  for (const [value, key, descriptor] of cases) {
    const expected = hex(write(value).bytes);
    let bytes;
    Object.defineProperty(Array.prototype, key, { ...descriptor, configurable: true });
    try {
      ({ bytes } = write(value));
    } finally {
      delete Array.prototype[key];
    }
    assert.strictEqual(hex(bytes), expected);
  }
  assert.strictEqual(seen.length, 0);
});

test('a replaced Function.prototype.call is not used by the reader', () => {
  const { bytes } = write({ a: 1, b: { c: 2 } });
  const { call } = Function.prototype;
  let calls = 0;
  let received;
  Function.prototype.call = function count(self, ...args) {
    calls += 1;
    return Reflect.apply(this, self, args);
  };
  try {
    received = read(bytes);
  } finally {
    Function.prototype.call = call;
  }
  assert.deepStrictEqual([calls, received], [0, { a: 1, b: { c: 2 } }]);
});

test('read-only properties of prototypes do not interfere', () => {
  const key = 'toString';
  const descriptor = Object.getOwnPropertyDescriptor(Object.prototype, key);
  Object.defineProperty(Object.prototype, key, { ...descriptor, writable: false });
  try {
    assert.strictEqual(cloned({ toString: 1 }).toString, 1);
  } finally {
    Object.defineProperty(Object.prototype, key, descriptor);
  }
});

test('errors: parts, order, prototypes', () => {
  const log = [];
  // The stack first: some versions of V8 format it, with the name in it, before it is replaced.
  const error = Object.defineProperties(Object.defineProperty(new Error('m'), 'stack', { value: '', configurable: true }), {
    name: { get: () => (log.push('name'), { toString: () => (log.push('name text'), 'RangeError') }) },
    message: { value: { toString: () => (log.push('message text'), 'text') } },
    stack: { get: () => (log.push('stack'), 'at home') },
    cause: { value: { get inside() { log.push('cause'); return 1; } } },
  });
  const received = cloned(error);
  assert.deepStrictEqual(log, ['name', 'name text', 'message text', 'stack', 'cause']);
  assert.ok(received instanceof RangeError);
  assert.deepStrictEqual([received.message, received.stack, received.cause, Object.keys(received)], ['text', 'at home', { inside: 1 }, []]);
  const loop = new TypeError('m');
  loop.cause = loop;
  const again = cloned(loop);
  assert.strictEqual(again.cause, again);
  assert.throws(() => write(Object.assign(new Error('m'), { name: Symbol('s') })), TypeError);
});

test('an error without a stack does not get the reader\'s stack', () => {
  const error = read(encoding('rm"', 1, 'x.'));
  assert.deepStrictEqual([error.message, error.stack, Object.getOwnPropertyNames(error).toSorted()], ['x', undefined, ['message', 'stack']]);
});

test('a DOMException is an error on every host', () => {
  const received = cloned(new DOMException('no', 'AbortError'));
  assert.ok(types.isNativeError(received));
  assert.deepStrictEqual([received.message, received.name, Object.getPrototypeOf(received)], ['no', 'Error', Error.prototype]);
  assert.strictEqual(difference({}, cloned(Object.create(DOMException.prototype))), undefined);
});

test('classes and functions can be passed by slots', () => {
  class Handle {}
  const handle = new Handle();
  const act = () => {};
  const asked = [];
  const carrierOf = (object) => {
    asked.push(object);
    if (object === handle) return ['handle'];
    return object === act ? ['function'] : undefined;
  };
  const value = { handle, again: handle, list: [act, act, {}], plain: Object.create(null), date: new Date(0) };
  const { bytes, table } = write(value, { carrierOf });
  assert.deepStrictEqual(table, [['handle'], ['function']]);
  assert.ok(!asked.includes(value) && !asked.includes(value.list) && !asked.includes(value.plain));
  const resolve = ([name]) => (name === 'handle' ? handle : act);
  const received = read(bytes, table, { resolve });
  assert.strictEqual(received.handle, handle);
  assert.strictEqual(received.again, handle);
  assert.deepStrictEqual(received.list, [act, act, {}]);
  const failure = new Error('this carrier does not resolve');
  assert.throws(() => read(bytes, table, { resolve() { throw failure; } }), (error) => error === failure);
});

test('shared buffers are passed to the hook', () => {
  const buffer = new SharedArrayBuffer(8);
  const { bytes, table } = write([buffer, new Uint8Array(buffer, 2, 3), buffer]);
  assert.deepStrictEqual(table, [[CARRIER.SHARED, buffer]]);
  const [first, view, last] = read(bytes, table);
  assert.ok(first === buffer && last === buffer && view.buffer === buffer);
  assert.deepStrictEqual([view.byteOffset, view.length], [2, 3]);
  assert.throws(() => read(bytes, table, { resolve: () => new ArrayBuffer(8) }), /no shared buffer/);
});

test('the reader numbers objects as the writer does', () => {
  const buffer = new ArrayBuffer(4);
  const shared = { shared: 1 };
  const value = [new Date(0), /a/, new String('s'), Object(1n), new Error('e', { cause: shared }), new Uint8Array(buffer), new Map([[shared, buffer]]), new Set([shared]), shared];
  const { bytes, table } = write(value);
  assert.strictEqual(difference(value, read(bytes, arrived(table))), undefined);
});

test('instances: own properties alone, whatever their prototypes have', () => {
  let traps = 0;
  const watched = new Proxy({}, { get: (_, key) => { traps += key === Symbol.toStringTag ? 0 : 1; }, ownKeys: () => { traps += 1; return []; }, getOwnPropertyDescriptor: () => { traps += 1; } });
  class Base { get inherited() { throw new Error('a getter of a prototype ran'); } }
  class Derived extends Base {}
  function Old() {}
  Object.assign(Old.prototype, { first: 'inherited', method() {} });
  const chains = [Base.prototype, Derived.prototype, Old.prototype, Object.create(Old.prototype), Object.create(null), Object.create(Object.create(null)), watched, Object.create(watched)];
  for (const prototype of chains) {
    let reads = 0;
    const object = Object.create(prototype, {
      second: { get() { reads += 1; delete this.fourth; return reads; }, enumerable: true },
      hidden: { value: 'hidden', enumerable: false },
      first: { value: { own: true }, enumerable: true },
      fourth: { value: 4, enumerable: true, configurable: true },
      1: { value: 'index', enumerable: true },
    });
    const value = [object, Object.create(prototype), object];
    const found = cloned(value);
    const expected = { 1: 'index', second: 1, first: { own: true } };
    assert.equal(difference(found, [expected, {}, expected]), undefined);
    assert.deepEqual(Object.keys(found[0]), ['1', 'second', 'first']);
    assert.equal(reads, 1);
  }
  assert.equal(traps, 0);
});

test('names of two bytes per character', () => {
  const long = 'Ā'.repeat(64);
  const names = ['', 'ж', 'жж', 'жa', 'aж', '年齢', '😀', '\ud800', 'Ā', 'Ā'.repeat(63), long, `${long}Ā`, 'x'.repeat(127), 'x'.repeat(128), 'x'.repeat(4_000), 'ж'.repeat(4_000), '__proto__', '7'];
  const objects = [];
  for (let round = 0; round < 4; round += 1) {
    for (let from = 0; from < names.length; from += 1) {
      const object = {};
      for (let index = 0; index <= round; index += 1) Object.defineProperty(object, names[(from + index * 3) % names.length], { value: index, writable: true, enumerable: true, configurable: true });
      objects.push(object, { ...object });
    }
  }
  assert.equal(difference(cloned(objects), objects), undefined);
  assert.deepEqual(cloned(objects).map((each) => Object.keys(each)), objects.map((each) => Object.keys(each)));
  const twice = encoding('o', 'c', 2, 0x36, 4, 'I', 2, 'c', 2, 0x36, 4, 'I', 2, '{', 2);
  assert.throws(() => read(twice), /a property twice/);
});
