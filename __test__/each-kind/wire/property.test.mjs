// Random values survive a round trip. Types, holes, signs of zero, sharing, cycles and the order of keys survive.

/* oxlint-disable no-sparse-arrays, no-new-array -- holes travel, too */

import assert from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import { arrived, cloned, difference, hex, read, write } from '../../wire/helper.mjs';

const RUNS = 400;

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 60 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
);
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'toString', 'length', 'id', '0', '7', '4294967294', '4294967295', '-1', '1.5'));
const number = fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger(), fc.constantFrom(0, -0, NaN, 2 ** 31, -(2 ** 31), 2 ** 32 - 1));
const bigint = fc.oneof(fc.bigInt(), fc.bigInt({ min: -(2n ** 300n), max: 2n ** 300n }));
const primitive = fc.oneof(number, text, bigint, fc.boolean(), fc.constantFrom(null, undefined));
const bytes = fc.uint8Array({ maxLength: 64 });

/** Defines own properties: assigning to `__proto__` would not. */
const withKeys = (object, pairs) => {
  for (const [name, value] of pairs) {
    if (name === 'length' && Array.isArray(object)) continue;
    if (Array.isArray(object) && String(name >>> 0) === name) continue;
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return object;
};
const HOLE = Symbol('hole');
const holey = (items) => {
  const array = new Array(items.length);
  items.forEach((item, index) => { if (item !== HOLE) array[index] = item; });
  return array;
};
const views = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array, ...('Float16Array' in globalThis ? [globalThis.Float16Array] : [])];
const view = fc.tuple(fc.constantFrom(...views, DataView), bytes).map(([View, content]) => {
  const size = View.BYTES_PER_ELEMENT ?? 1;
  return new View(content.slice(0, content.length - (content.length % size)).buffer);
});
const resizable = fc.tuple(bytes, fc.nat(50)).map(([content, more]) => {
  const buffer = new ArrayBuffer(content.length, { maxByteLength: content.length + more });
  new Uint8Array(buffer).set(content);
  return buffer;
});
const error = fc.tuple(fc.constantFrom(Error, TypeError, RangeError, SyntaxError, URIError, EvalError, ReferenceError), text, text).map(([Class, message, stack]) =>
  Object.defineProperty(new Class(message), 'stack', { value: stack }));
const leaf = fc.oneof(
  primitive,
  primitive,
  fc.date({ noInvalidDate: false }),
  fc.constantFrom(/a/g, /[x-z]+/dimsuy, /\u20ac/v, /(?:)/),
  fc.oneof(number, text, bigint, fc.boolean()).map(Object),
  bytes.map(({ buffer, byteOffset, byteLength }) => buffer.slice(byteOffset, byteOffset + byteLength)),
  view,
  resizable,
  error,
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5, depthSize: 'small' }, leaf, tie('container')),
  container: fc.oneof(
    fc.array(tie('value'), { maxLength: 8 }),
    fc.array(fc.oneof(tie('value'), fc.constant(HOLE)), { maxLength: 8 }).map(holey),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 8 }).map((pairs) => withKeys({}, pairs)),
    fc.tuple(fc.array(tie('value'), { maxLength: 4 }), fc.array(fc.tuple(key, tie('value')), { maxLength: 3 })).map(([array, pairs]) => withKeys(array, pairs)),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 5 }).map((pairs) => new Map(pairs)),
    fc.array(tie('value'), { maxLength: 5 }).map((items) => new Set(items)),
  ),
}));

test('a value survives a round trip', () => {
  fc.assert(fc.property(value, (original) => {
    assert.strictEqual(difference(original, cloned(original)), undefined);
  }), { numRuns: RUNS });
});

test('writing a read value produces the same bytes', () => {
  fc.assert(fc.property(value, (original) => {
    const first = write(original);
    const second = write(read(first.bytes, arrived(first.table)));
    assert.strictEqual(hex(second.bytes), hex(first.bytes));
  }), { numRuns: RUNS });
});

test('graphs keep their references and cycles', () => {
  const kinds = [() => ({}), () => [], () => new Map(), () => new Set(), () => Object.defineProperty(new Error('e'), 'stack', { value: '' })];
  const link = (from, to, name) => {
    if (from instanceof Map) from.set(name, to).set(to, name);
    else if (from instanceof Set) from.add(to);
    else if (from instanceof Error) Object.defineProperty(from, 'cause', { value: to, configurable: true });
    else if (Array.isArray(from)) from.push(to);
    else from[`to${name}`] = to;
  };
  const graph = fc.tuple(
    fc.array(fc.nat(kinds.length - 1), { minLength: 1, maxLength: 30 }),
    fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 80 }),
  ).map(([nodes, links]) => {
    const made = nodes.map((kind) => kinds[kind]());
    links.forEach(([from, to], name) => link(made[from % made.length], made[to % made.length], name));
    return made;
  });
  fc.assert(fc.property(graph, (nodes) => {
    assert.strictEqual(difference(nodes, cloned(nodes)), undefined);
    assert.strictEqual(difference(nodes[0], cloned(nodes[0])), undefined);
  }), { numRuns: RUNS });
});

test('values deeper than the recursion limit survive a round trip', () => {
  const wraps = [(inner) => [inner, 1], (inner) => ({ before: 1, inner, after: 2 }), (inner) => new Map([[inner, 'x'], ['y', inner]]), (inner) => new Set([1, inner, 2]),
    (inner) => Object.defineProperty(new Error('e', { cause: inner }), 'stack', { value: 's' }), (inner) => Object.assign([, 2], { inner, last: 3 }), (inner) => Object.assign([1], { inner, last: 3 }),
    (inner) => Object.assign(new Array(5), { 3: inner })];
  fc.assert(fc.property(fc.array(fc.nat(wraps.length - 1), { minLength: 60, maxLength: 300 }), (order) => {
    const shared = { shared: true };
    const deep = order.reduce((inner, wrap) => wraps[wrap](inner), shared);
    const original = [deep, shared, deep];
    const received = cloned(original);
    assert.strictEqual(hex(write(received).bytes), hex(write(original).bytes));
    assert.strictEqual(difference(original, received), undefined);
  }), { numRuns: 60 });
});
