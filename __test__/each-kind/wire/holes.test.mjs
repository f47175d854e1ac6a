// Arrays in the sparse form, in which V8 writes all arrays that may have holes. Elements before the first gap are read like those of a dense
// array; the result is the same as if each one were defined by its key.

/* oxlint-disable no-sparse-arrays, no-new-array, no-extend-native -- holes travel, and prototypes are not to be trusted */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRequire } from 'node:module';
import { difference, read, readHooks, Reader, write } from '../../wire/helper.mjs';

const { EVENT, ROLE, Visitor } = createRequire(import.meta.url)('../../../surface/host/values/visit.js');

const varint = (number) => {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return [...bytes, number];
};
const code = (text) => text.charCodeAt(0);
const int = (number) => [code('I'), ...varint(number * 2)];
const name = (text) => [code('"'), text.length, ...Buffer.from(text, 'latin1')];
const TRUE = [code('T')];
/** The bytes of a sparse array with these keys, all of which have the same value. */
const sparse = (length, keys, { value = TRUE, count = keys.length, end = length } = {}) => Uint8Array.from([
  255, 15, code('a'), ...varint(length), ...keys.flatMap((key) => [...(typeof key === 'number' ? int(key) : name(key)), ...value]),
  code('@'), ...varint(count), ...varint(end),
]);
const upTo = (count, from = 0) => Array.from({ length: count }, (_, index) => index + from);
const expectedOf = (length, keys, value = true) => {
  const array = [];
  array.length = length;
  for (const key of keys) Object.defineProperty(array, key, { value, writable: true, enumerable: true, configurable: true });
  return array;
};

/** Reads with an interruption at every possible point. */
function inBits(bytes) {
  const reader = new Reader(bytes, [], readHooks);
  while (!reader.readUntil(-Infinity));
  return reader.result;
}

const shapes = {
  empty: [0, []],
  'only holes': [7, []],
  'many holes': [4_294_967_295, []],
  'no hole': [3, upTo(3)],
  'no hole, the longest that is allocated in advance': [16, upTo(16)],
  'no hole, longer': [17, upTo(17)],
  'no hole, with a note': [3_000, upTo(3_000)],
  'a hole at the start': [3, [1, 2]],
  'a hole in the middle': [5, [0, 1, 3, 4]],
  'a hole at the end': [5, upTo(4)],
  names: [3, [...upTo(3), 'x', '__proto__', 'toString', '-1']],
  'names after a gap': [9, [0, 4, 'x', '__proto__']],
  'keys in another order': [4, [0, 2, 1, 3]],
  'keys in reverse': [40, upTo(40).toReversed()],
  'a long gap': [1_000_000, [0, 1, 2, 999_999]],
  'many elements, then a gap, with a note': [2_500, [...upTo(1_500), 2_400, 'x']],
  'the most elements of a dictionary': [40_000, [...upTo(1_024), 39_999]],
  'more than the most elements of a dictionary': [40_000, [...upTo(1_025), 39_999]],
  'many elements in front of a very long gap': [1_000_000_000, [...upTo(1_300), 999_999_999]],
};

describe('every shape', () => {
  for (const [what, [length, keys]] of Object.entries(shapes)) {
    test(what, () => {
      const bytes = sparse(length, keys);
      const expected = expectedOf(length, keys);
      for (const found of [read(bytes), inBits(bytes)]) {
        assert.equal(found.length, length);
        assert.deepEqual(Object.keys(found), Object.keys(expected));
        for (const key of keys) assert.deepEqual(Object.getOwnPropertyDescriptor(found, key), Object.getOwnPropertyDescriptor(expected, key));
        assert.equal(Object.getPrototypeOf(found), Array.prototype);
      }
    });
  }
});

describe('primitives', () => {
  const string = (text) => [code('"'), ...varint(text.length), ...Buffer.from(text, 'latin1')];
  const double = (value) => [code('N'), ...new Uint8Array(Float64Array.of(value).buffer)];
  const signed = (value) => [code('I'), ...varint(value < 0 ? -2 * value - 1 : 2 * value)];
  const forms = [
    [TRUE, true], [[code('F')], false], [[code('0')], null], [[code('_')], undefined], [[code('U'), 200, 1], 200],
    ...[0, -1, 63, -64, 64, 8_191, -8_192, 8_192, 1_048_575, -1_048_576, 1_048_576, 2 ** 30, -(2 ** 30)].map((value) => [signed(value), value]),
    ...[0.5, -0, NaN, -Infinity].map((value) => [double(value), value]),
    ...['', 'a', 'twelve chars', 'thirteen char', 'é'.repeat(127), 'x'.repeat(128), 'y'.repeat(3_000)].map((text) => [string(text), text]),
    [[code('c'), 4, 0x36, 4, 0x3b, 4], 'жл'], [[0, code('c'), 2, 0x36, 4], 'ж'],
  ];
  const elements = upTo(3).flatMap(() => forms);
  /** Bytes of a sparse array whose elements have these forms. */
  const bytesOf = (list, { number = int, end = [] } = {}) => Uint8Array.from([
    255, 15, code('a'), ...varint(list.length), ...list.flatMap(([bytes], index) => [...number(index), ...bytes]), code('@'), ...varint(list.length), ...varint(list.length), ...end,
  ]);

  test('every form', () => {
    const bytes = bytesOf(elements);
    for (const found of [read(bytes), inBits(bytes)]) assert.equal(difference(found, elements.map(([, value]) => value)), undefined);
  });

  test('every form at the end of the bytes, and cut off there', () => {
    for (const form of forms) {
      const bytes = bytesOf([forms[0], form]);
      assert.ok(Object.is(read(bytes)[1], form[1]));
      for (let length = 3; length < bytes.length; length++) assert.throws(() => read(bytes.subarray(0, length)), /unexpected end|a wrong number|unknown/);
    }
  });

  test('indices that are longer than they must be', () => {
    const bytes = bytesOf(elements, { number: (index) => [code('I'), ((index * 2) & 127) | 128, ((index * 2) >> 7) | 128, 0] });
    assert.equal(difference(read(bytes), elements.map(([, value]) => value)), undefined);
  });

  test('their memory is counted', () => {
    const many = (form) => bytesOf(Array.from({ length: 3_000 }, () => form));
    for (const [bytes, least] of [[many(forms[0]), 3_000 * 12], [many([double(0.5)]), 3_000 * 28], [many([string('abc')]), 3_000 * 72]]) {
      assert.equal(read(bytes, [], { maxWeight: least * 2 }).length, 3_000);
      assert.throws(() => read(bytes, [], { maxWeight: least * 0.8 }), { code: 'ERR_ISOLATE_LIMIT' });
    }
  });
});

test('elements that are objects, and refer to the array', () => {
  const inner = sparse(20, upTo(20), { value: [code('^'), 0] });
  const found = read(inner);
  assert.ok(found.length === 20 && found.every((each) => each === found));
  const nested = sparse(20, upTo(20), { value: [code('a'), 2, ...int(0), ...TRUE, ...int(1), ...TRUE, code('@'), 2, 2] });
  for (const array of [read(nested), inBits(nested)]) assert.deepEqual(array, upTo(20).map(() => [true, true]));
});

test('deeply nested arrays', () => {
  let value = true;
  const parts = [];
  for (let level = 0; level < 500; level++) {
    value = [value, level];
    parts.push([code('a'), 2, ...int(0)]);
  }
  const bytes = Uint8Array.from([255, 15, ...parts.flat(), ...TRUE, ...upTo(500).flatMap((level) => [...int(1), ...int(level), code('@'), 2, 2])]);
  for (const found of [read(bytes), inBits(bytes)]) assert.equal(difference(found, value), undefined);
});

test('polluted prototypes', () => {
  let touched = 0;
  const trap = { get() { touched += 1; return 'inherited'; }, set() { touched += 1; }, configurable: true };
  const cases = [sparse(5, upTo(5)), sparse(5, [0, 2, 4]), sparse(40, upTo(40)), sparse(40, [...upTo(3), 9])];
  let results;
  let count;
  Object.defineProperty(Array.prototype, 1, trap);
  Object.defineProperty(Object.prototype, 2, trap);
  try {
    const [one, two, three, four] = cases;
    results = { one: read(one), two: read(two), three: read(three), four: inBits(four) };
    count = touched;
  } finally {
    delete Array.prototype[1];
    delete Object.prototype[2];
  }
  assert.equal(count, 0);
  const expected = { one: expectedOf(5, upTo(5)), two: expectedOf(5, [0, 2, 4]), three: expectedOf(40, upTo(40)), four: expectedOf(40, [...upTo(3), 9]) };
  assert.deepEqual(results, expected);
});

test('bytes that V8 does not write', () => {
  const malformed = (bytes, message) => {
    assert.throws(() => read(bytes), { message });
    assert.throws(() => inBits(bytes), { message });
  };
  malformed(sparse(5, [0, 1, 0]), /an element twice/);
  malformed(sparse(5, [0, 1, 3, 3]), /an element twice/);
  malformed(sparse(2_000, [...upTo(1_500), 1_499]), /an element twice/);
  malformed(sparse(3, [0, 1, 2, 3]), /an element beyond the end/);
  malformed(sparse(3, [0, 1], { count: 1 }), /a wrong number of elements/);
  malformed(sparse(3, [0, 1], { count: 3 }), /a wrong number of elements/);
  malformed(sparse(3, [0, 1], { end: 2 }), /a wrong number of elements/);
  malformed(sparse(3, [0, 1]).slice(0, -5), /unexpected end/);
  malformed(sparse(3, [0, 'x', 'x']), /an element twice/);
});

test('memory is counted for announced lengths', () => {
  const limited = (bytes) => read(bytes, [], { maxWeight: 2 ** 20 });
  const refused = { code: 'ERR_ISOLATE_LIMIT' };
  // A length that is far greater than the number of elements is not allocated.
  assert.equal(limited(sparse(1_000_000_000, [...upTo(1_100), 999_999_999])).length, 1_000_000_000);
  assert.equal(limited(sparse(80_000, upTo(80_000))).length, 80_000);
  assert.throws(() => limited(sparse(100_000, upTo(100_000))), refused);
  assert.throws(() => limited(sparse(320_000, upTo(30_000))), refused);
});

test('code that examines values sees every element once', () => {
  for (const [length, keys] of [[3_000, upTo(3_000)], [5_000, [...upTo(1_500), 4_000, 'x']], [5_000, [3, ...upTo(1_200, 10)]]]) {
    const visitor = new Visitor(read(sparse(length, keys)), { spend() {} });
    const seen = [];
    for (let event = visitor.next(); event !== EVENT.END; event = visitor.next()) {
      if (event === EVENT.LEAF) seen.push(visitor.role === ROLE.ELEMENT ? visitor.key : String(visitor.key));
    }
    assert.deepEqual(seen, keys);
  }
});

test('a repeated object at each position among many', () => {
  for (const before of [0, 1, 6, 7, 8, 9, 10, 40]) {
    const others = upTo(before).map((id) => ({ id }));
    const again = { again: true };
    const view = new Uint8Array(new ArrayBuffer(10_000), 5, 5);
    const whole = new Uint16Array(new ArrayBuffer(8));
    const value = [...others, again, view, whole, whole.buffer, again, ...others, view, whole, again];
    const { bytes, table } = write(value);
    const found = read(bytes, table.map(([tag, buffer, offset, length]) => [tag, buffer.slice(offset, offset + length)]));
    // A view of a part of a large buffer gets a buffer of its own.
    const copied = new Uint8Array(5);
    assert.equal(difference(found, value.map((each) => (each === view ? copied : each))), undefined);
    const at = value.indexOf(view);
    assert.ok(found[at] === found[at + 4 + before] && found[at + 1].buffer === found[at + 2] && found[at - 1] === found.at(-1));
  }
});

test('elements that getters remove or replace during writing', () => {
  const values = upTo(6).map((index) => ({ index }));
  Object.defineProperty(values, 1, { get() { delete values[3]; values[4] = undefined; return 'read'; }, enumerable: true, configurable: true });
  let reads = 0;
  Object.defineProperty(values, 5, { get() { reads += 1; return null; }, enumerable: true, configurable: true });
  Array.prototype[3] = 'inherited';
  let encoded;
  try {
    encoded = write(values);
  } finally {
    delete Array.prototype[3];
    // A dense array: its length is what it was.
    Array.prototype.length = 0;
  }
  assert.equal(reads, 1);
  assert.equal(difference(read(encoded.bytes), [{ index: 0 }, 'read', { index: 2 }, , undefined, null]), undefined);
});
