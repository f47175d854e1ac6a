// Values that are read piece by piece.

import assert from 'node:assert';
import { test } from 'node:test';
import { arrived, CARRIER, difference, encoding, read, readHooks, Reader, write } from '../../wire/helper.mjs';

/** Reads with an interruption at every possible point. */
function inBits(bytes, table = []) {
  const reader = new Reader(bytes, table, readHooks);
  let bits = 1;
  while (!reader.readUntil(-Infinity)) bits++;
  return { value: reader.result, bits };
}

const many = (make, count = 4_000) => Array.from({ length: count }, (_, index) => make(index));
function nest(depth, around) {
  let value = many((index) => index);
  for (let level = 0; level < depth; level++) value = around(value, level);
  return value;
}
const sparse = () => {
  const array = [];
  array.length = 1e9;
  for (let index = 0; index < 4_000; index++) array[index * 1_000] = { index };
  return array;
};
const named = () => Object.assign(many((index) => index), Object.fromEntries(many((index) => [`k${index}`, [index]])));
const holes = () => {
  const array = many((index) => [index]);
  for (let index = 0; index < array.length; index += 3) delete array[index];
  return Object.assign(array, { name: { deep: many((index) => index) } });
};
const cyclic = () => {
  const map = new Map();
  for (let index = 0; index < 4_000; index++) map.set({ map, index }, new Set([map, index]));
  return { map, again: map };
};

const values = {
  numbers: many((index) => index),
  objects: many((index) => ({ a: index, b: `x${index}`, c: { d: null } })),
  'keys of one object': Object.fromEntries(many((index) => [`k${index}`, { index }])),
  'numbers as keys': Object.fromEntries(many((index) => [index * 3, [index]])),
  'a Map': new Map(many((index) => [`k${index}`, { index }])),
  'a Map with objects as keys': new Map(many((index) => [[index], [index]])),
  'a Set': new Set(many((index) => ({ index }))),
  errors: many((index) => new TypeError(`${index}`, { cause: { index } }), 500),
  'a long cause': new Error('x', { cause: many((index) => ({ index })) }),
  'deep arrays': nest(300, (value) => [value, 1, 2]),
  'deep objects': nest(300, (value, level) => ({ before: level, value, after: [level] })),
  'deep Maps': nest(200, (value, level) => new Map([[level, value], [value, level], [{ level }, 2]])),
  'deep Sets': nest(200, (value, level) => new Set([level, value, [level]])),
  'deep errors': nest(200, (value) => new RangeError('y', { cause: value })),
  'a sparse array': sparse(),
  'an array with names': named(),
  'an array with holes': holes(),
  cycles: cyclic(),
  leaves: many((index) => [new Date(index), new RegExp(`a${index}`), Object(index), BigInt(index), new Uint8Array([index]), new ArrayBuffer(3)], 500),
};

for (const [name, value] of Object.entries(values)) {
  test(name, () => {
    const { bytes, table } = write(value);
    const { value: found, bits } = inBits(bytes, arrived(table));
    assert.ok(bits > 2, `${bits} bits`);
    assert.strictEqual(difference(found, read(bytes, arrived(table))), undefined);
    assert.strictEqual(difference(found, value), undefined);
  });
}

/** A list of the rows of a table. */
const listOfRows = (count) => encoding('A', [count], ...Array.from({ length: count }, (_, index) => ['\\', [index]]).flat(), '$', [0, count]);
const copyOf = (value) => [CARRIER.WIRE, write(value).bytes, []];

test('copies in a table', () => {
  const parts = [values.objects, values.leaves, { small: [1] }];
  const { value, bits } = inBits(listOfRows(parts.length), parts.map(copyOf));
  assert.ok(bits > 2, `${bits} bits`);
  assert.strictEqual(difference(value, parts), undefined);
});

test('copies in each other', () => {
  let inner = copyOf(values.objects);
  for (let depth = 1; depth < 64; depth++) inner = [CARRIER.WIRE, listOfRows(1), [inner]];
  const { value, bits } = inBits(listOfRows(1), [inner]);
  assert.ok(bits > 2, `${bits} bits`);
  let innermost = value;
  for (let depth = 0; depth < 64; depth++) [innermost] = innermost;
  assert.strictEqual(difference(innermost, values.objects), undefined);
  assert.throws(() => inBits(listOfRows(1), [[CARRIER.WIRE, listOfRows(1), [inner]]]), { message: /nested too deeply/, code: 'ERR_ISOLATE_LIMIT' });
});

test('copies in a table take memory and time of the value', () => {
  const copy = many((index) => ({ index }));
  const hooks = { maxWeight: copy.length * 250 };
  assert.strictEqual(read(listOfRows(2), [copy, copy].map(copyOf), hooks).length, 2);
  assert.throws(() => read(listOfRows(3), [copy, copy, copy].map(copyOf), hooks), { message: /too much memory/, code: 'ERR_ISOLATE_LIMIT' });
  // Each of them is accepted alone.
  const costly = new RegExp('\\p{RGI_Emoji}'.repeat(4), 'iv');
  assert.ok(read(listOfRows(1), [copyOf(costly)])[0] instanceof RegExp);
  assert.throws(() => read(listOfRows(20), Array.from({ length: 20 }, () => copyOf(costly))), { message: /take too long/, code: 'ERR_ISOLATE_TRANSFER' });
});

test('a value with an error in its middle', () => {
  const { bytes } = write(values.objects);
  assert.throws(() => inBits(bytes.slice(0, bytes.length - 2)), /unexpected end/);
  assert.throws(() => inBits(new Uint8Array([...bytes, 0])), /bytes after the value/);
});

test('Object.prototype changes while a value is read', () => {
  const { bytes } = write(many((index) => ({ added: index })));
  const reader = new Reader(bytes, [], readHooks);
  assert.ok(!reader.readUntil(-Infinity));
  const seen = [];
  // oxlint-disable-next-line no-extend-native -- what the test is about
  Object.defineProperty(Object.prototype, 'added', { configurable: true, get: () => undefined, set: (value) => { seen.push(value); } });
  try {
    while (!reader.readUntil(-Infinity));
  } finally {
    delete Object.prototype.added;
  }
  assert.deepStrictEqual(seen, []);
  assert.deepStrictEqual(reader.result, many((index) => ({ added: index })));
});

test('a repeated property among many', () => {
  const properties = (count, last) => [...many((index) => `"\x05${String(index).padStart(5, 'k')}0`, count), `"\x05${last}0{`].join('');
  const varint = [(2_001 & 127) | 128, 2_001 >> 7];
  for (const twice of ['kkkk5', 'k1000', 'k1023', 'k1024', 'k1999']) {
    assert.throws(() => read(encoding('o', properties(2_000, twice), varint)), /a property twice/);
  }
  assert.strictEqual(Object.keys(read(encoding('o', properties(2_000, 'other'), varint))).length, 2_001);
});

/** A BigInt of `bytes` bytes, with different digits in each part. */
const bigintOf = (bytes) => BigInt(`0x${Array.from({ length: Math.ceil(bytes / 1024) }, (_, index) => (index + 1).toString(16).padStart(2048, 'f5a')).join('').slice(0, bytes * 2)}`);
const MEGABYTE = 2 ** 20;

test('long BigInts', () => {
  for (const bytes of [MEGABYTE - 8, MEGABYTE, MEGABYTE + 8, 2 * MEGABYTE, 3.5 * MEGABYTE + 16]) {
    for (const long of [bigintOf(bytes), -bigintOf(bytes)]) {
      const { bytes: encoded } = write(long);
      const { value, bits } = inBits(encoded);
      assert.ok(value === long, `${bytes} bytes`);
      assert.strictEqual(bits > 1, bytes > MEGABYTE, `${bytes} bytes in ${bits} bits`);
      assert.ok(read(encoded) === long);
    }
  }
});

test('long BigInts in every position', () => {
  const long = bigintOf(MEGABYTE + 8);
  const boxed = Object(-long);
  const value = { boxed, again: [boxed], map: new Map([[long, boxed], ['value', long]]), set: new Set([long, 1]), sparse: Object.assign([], { 9: long, name: long }), error: new Error('e', { cause: long }) };
  const { bytes, table } = write(value);
  const { value: found, bits } = inBits(bytes, arrived(table));
  assert.ok(bits > 20, `${bits} bits`);
  for (const each of [found, read(bytes, arrived(table))]) {
    assert.ok(each.boxed.valueOf() === -long && each.again[0] === each.boxed && each.map.get(long) === each.boxed && each.map.get('value') === long);
    assert.ok(each.set.has(long) && each.set.size === 2 && each.sparse[9] === long && each.sparse.name === long && each.error.cause === long);
  }
  assert.ok(inBits(write(long).bytes).value === long && inBits(write(boxed).bytes).value.valueOf() === -long);
});

test('a long BigInt is read in short pieces', () => {
  const { bytes } = write(bigintOf(8 * MEGABYTE));
  const reader = new Reader(bytes, [], readHooks);
  let worst = 0;
  let pieces = 0;
  for (let isRead = false; !isRead; pieces += 1) {
    const start = process.cpuUsage();
    isRead = reader.readUntil(-Infinity);
    const { user, system } = process.cpuUsage(start);
    worst = Math.max(worst, (user + system) / 1_000);
  }
  // Eight parts, and seven joins of two parts each.
  assert.ok(pieces >= 15, `${pieces}`);
  assert.ok(worst < 300, `${worst} ms`);
});

test('a truncated or oversized long BigInt', () => {
  const { bytes } = write(bigintOf(2 * MEGABYTE));
  assert.throws(() => read(bytes.slice(0, -1)), /unexpected end/);
  assert.throws(() => inBits(new Uint8Array([...bytes.subarray(0, bytes.length), 0])), /bytes after the value/);
  assert.throws(() => read(write([1n << BigInt(8 * 17 * MEGABYTE)]).bytes), /a BigInt that is too large/);
});
