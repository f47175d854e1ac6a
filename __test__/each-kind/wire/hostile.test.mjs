// Bytes from a malicious guest must become a value or an Error soon, and lengths that they claim must take no memory.

/* oxlint-disable no-sparse-arrays -- holes travel, too */

import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { arrived, CARRIER, encoding, read, unhex, write } from '../../wire/helper.mjs';

const golden = JSON.parse(readFileSync(new URL('../../wire/golden.json', import.meta.url), 'utf8')).map(({ bytes }) => ({ bytes: unhex(bytes), table: [] }));
const shared = new SharedArrayBuffer(4);
const rich = write({
  list: [1, 1.5, 'text', '\u20ac', , null, new Date(0)], map: new Map([[{}, new Set([1n])]]), error: new TypeError('m', { cause: [/x/g] }),
  views: [new Uint8Array(4), new Float64Array(2), new Uint8Array(new ArrayBuffer(4, { maxByteLength: 8 })), new Uint16Array(shared), shared], again: [],
});
const corpus = [...golden.filter(({ bytes }) => bytes.length < 1000), { bytes: rich.bytes, table: arrived(rich.table) }];

const varint = (number) => (number < 128 ? [number] : [(number & 127) | 128, ...varint(Math.floor(number / 128))]);
const regexp = (source, flags) => encoding('R"', varint(source.length), source, varint(flags));

/** Reads; any result except a value or an ordinary error fails the test. */
function survive(bytes, table) {
  try {
    read(bytes, table);
    return true;
  } catch (error) {
    assert.ok(error instanceof Error, String(error));
    assert.match(error.message, /^(Unable to deserialize cloned data: |Value is nested too deeply)/);
    return false;
  }
}

test('every truncation is refused', () => {
  for (const { bytes, table } of corpus) {
    for (let length = 0; length < bytes.length; length++) {
      // A view's bytes without the view are its buffer.
      const isBuffer = survive(bytes.slice(0, length), table);
      assert.ok(!isBuffer || bytes[length] === 'V'.charCodeAt(0));
    }
    assert.strictEqual(survive(bytes, table), true);
  }
});

test('bytes after the value are refused', () => {
  for (const { bytes, table } of corpus) {
    for (const more of [0, 0x30, 0x56, 0xff]) assert.strictEqual(survive(new Uint8Array([...bytes, more]), table), false);
  }
});

/** The same sequence on every run. */
function randomNumbers(seed) {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
}

test('flipped bits result in a value or an error', () => {
  const random = randomNumbers(1);
  let values = 0;
  let runs = 0;
  for (const { bytes, table } of corpus) {
    const everyBit = bytes.length < 60;
    for (let turn = 0; turn < (everyBit ? bytes.length * 8 : 400); turn++) {
      const changed = bytes.slice();
      const bit = everyBit ? turn : random(bytes.length * 8);
      changed[bit >> 3] ^= 1 << (bit & 7);
      runs++;
      if (survive(changed, table)) values++;
    }
  }
  assert.ok(runs > 10_000 && values > 0 && values < runs);
});

test('random bytes result in a value or an error', () => {
  const random = randomNumbers(2);
  const tags = [...'_0TFIUNZS"c^o{a@A$DyxnzsR;:\',BC~tVu\\r?-m.pwV', '\0'].map((tag) => tag.charCodeAt(0));
  let values = 0;
  for (let turn = 0; turn < 30_000; turn++) {
    const length = 1 + random(30);
    const bytes = encoding();
    const all = new Uint8Array(bytes.length + length);
    all.set(bytes);
    for (let index = bytes.length; index < all.length; index++) {
      all[index] = random(3) ? tags[random(tags.length)] : random(2) ? random(8) : random(256);
    }
    if (survive(all, arrived(rich.table))) values++;
  }
  assert.ok(values > 0);
});

const huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
const size = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
const refusals = {
  'nothing': [new Uint8Array(0), /no header/],
  'no header': [new Uint8Array([0x49, 2]), /no header/],
  'an old version': [new Uint8Array([0xff, 12, 0x30]), /unknown version/],
  'a new version': [new Uint8Array([0xff, 17, 0x30]), /unknown version/],
  'a dense array of 2^32 - 1': [encoding('A', huge, 'I'), /unexpected end/],
  'a one-byte string': [encoding('"', huge, 'abc'), /unexpected end/],
  'a two-byte string': [encoding('c', [0xfe, 0xff, 0xff, 0xff, 0x0f], 'ab'), /unexpected end/],
  'half a character': [encoding('c', 3, 'abc'), /half a character/],
  'a UTF-8 string': [encoding('S', huge, 'abc'), /unexpected end/],
  'broken UTF-8': [encoding('S', 2, [0xc3, 0x28]), /invalid UTF-8/],
  'a BigInt': [encoding('Z', huge, 'abcdefgh'), /unexpected end/],
  'a negative zero BigInt': [encoding('Z', 1), /negative zero/],
  'an ArrayBuffer': [encoding('B', size, 'abc'), /unexpected end/],
  'an ArrayBuffer beyond 2^53': [encoding('B', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), /out of range/],
  'a resizable buffer that reserves too much': [encoding('~', 0, [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40]), /too long|no memory/],
  'a resizable one below its length': [encoding('~', 2, 1, 'ab'), /longer than it may become/],
  'an endless varint': [encoding('U', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), /out of range/],
  'a hole outside of an array': [encoding('-'), /unknown tag/],
  'a view without a buffer': [encoding('VB', 0, 0, 0), /unknown tag/],
  'a view beyond its buffer': [encoding('B', 2, 'abVB', 1, 2, 0), /beyond its buffer/],
  'a view between elements': [encoding('B', 4, 'abcdVW', 1, 2, 0), /between two elements/],
  'half an element': [encoding('B', 4, 'abcdVW', 0, 3, 0), /between two elements/],
  'an unknown view': [encoding('B', 2, 'abVx', 0, 1, 0), /unknown kind/],
  'a tracking view on a fixed buffer': [encoding('B', 2, 'abVB', 0, 2, 1), /flags of a view/],
  'a fixed view on a resizable buffer': [encoding('~', 2, 4, 'abVB', 0, 2, 0), /flags of a view/],
  'unknown flags of a view': [encoding('B', 2, 'abVB', 0, 2, 4), /flags of a view/],
  'a reference to nothing': [encoding('^', 0), /reference to no object/],
  'a reference forward': [encoding('A', 2, '^', 1, 'o{', 0, '$', 0, 2), /reference to no object/],
  'a reference to itself by a regular expression': [encoding('A', 1, 'R^', 1, 0, '$', 0, 1), /no string/],
  'unknown flags of a regular expression': [encoding('R"', 1, 'a', [0x80, 0x04]), /unknown flags/],
  'the experimental flag': [encoding('R"', 1, 'a', 64), /unknown flags/],
  'flags that exclude each other': [encoding('R"', 1, 'a', [0x90, 0x02]), /invalid regular expression/],
  'a regular expression of many properties': [regexp('\\p{L}'.repeat(501), 16), /takes too long to make/],
  'a regular expression of many negated properties': [regexp('[^\\P{L}]'.repeat(501), 256), /takes too long to make/],
  'a regular expression of properties of strings': [regexp('\\p{RGI_Emoji}'.repeat(67), 256), /takes too long to make/],
  'a regular expression of many letters in one class': [regexp(`[${'\\W'.repeat(1_001)}]`, 256 + 2), /takes too long to make/],
  'a regular expression of many groups': [regexp(Array.from({ length: 1_010 }, (_, i) => `(?<a${i}>)`).join(''), 0), /takes too long to make/],
  'a regular expression of many classes in one': [regexp(`[${'[a]'.repeat(2_000)}]`, 256), /takes too long to make/],
  'a regular expression of many ranges in any case': [regexp('[\u0100-\u1fff]'.repeat(801), 256 + 2), /takes too long to make/],
  'a long regular expression': [regexp('a'.repeat(2 ** 15 + 1), 0), /takes too long to make/],
  'a broken regular expression': [encoding('R"', 1, '(', 0), /invalid regular expression/],
  'a wrong number of properties': [encoding('o"', 1, 'aI', 2, '{', 2), /wrong number of properties/],
  'a property twice': [encoding('o"', 1, 'aI', 2, '"', 1, 'aI', 2, '{', 2), /property twice/],
  '__proto__ twice': [encoding('o"', 9, '__proto__0"', 9, '__proto__0{', 2), /property twice/],
  'an object as key': [encoding('oo{', 0, 'I', 2, '{', 1), /neither string nor number/],
  'null as key': [encoding('o0I', 2, '{', 1), /neither string nor number/],
  'a wrong number of elements': [encoding('A', 1, 'I', 2, '$', 0, 2), /wrong number of elements/],
  'an element twice': [encoding('a', 2, 'I', 0, 'I', 0, 'I', 0, 'I', 0, '@', 2, 2), /element twice/],
  'the length as element': [encoding('a', 2, '"', 6, 'lengthI', 8, '@', 1, 2), /element twice/],
  'an element beyond the end': [encoding('a', 2, 'I', 20, 'I', 0, '@', 1, 2), /beyond the end/],
  'a wrong number of entries of a map': [encoding(';I', 0, 'I', 0, ':', 1), /wrong number of entries/],
  'a map with half an entry': [encoding(';I', 0, ':', 1), /unknown tag/],
  'a wrong number of entries of a set': [encoding('\'I', 0, ',', 2), /wrong number of entries/],
  'a message that is not a string': [encoding('rmI', 0, '.'), /no string/],
  'a message twice': [encoding('rm"', 1, 'am"', 1, 'b.'), /unknown part/],
  'a prototype behind the message': [encoding('rm"', 1, 'aT.'), /unknown part/],
  'an index beyond the table': [encoding('\\', 0), /beyond the table/],
  'a buffer beyond the table': [encoding('t', 0), /no buffer at this index/],
  'a shared buffer beyond the table': [encoding('u', 0), /beyond the table/],
  'a shared object': [encoding('p', 0), /unknown tag/],
  'a WebAssembly module': [encoding('w', 0), /unknown tag/],
  'an object count twice': [encoding('?', 0, '?', 0, '0'), /object count twice/],
  'only padding': [encoding([0, 0, 0, 0]), /unexpected end/],
};
for (const [name, [bytes, message]] of Object.entries(refusals)) {
  test(`refused: ${name}`, () => {
    assert.throws(() => read(bytes), (error) => {
      assert.match(error.message, /^Unable to deserialize cloned data: /);
      assert.match(error.message, message);
      return true;
    });
  });
}

test('a repeated property is refused although objects of the same shapes were read before', () => {
  const two = (key) => ['c', key.length * 2, [...key].map((each) => `${each}\0`).join('')];
  const object = (keys, end = keys.length) => encoding('o', ...keys.flatMap((key) => [...(Array.isArray(key) ? key : ['"', key.length, key]), '0']), '{', varint(end));
  for (const count of [2, 12, 13, 20, 32, 33, 40, 127, 128, 129, 200]) {
    const keys = Array.from({ length: count }, (_, index) => `a${count}_${index}`);
    for (let round = 0; round < 3; round += 1) assert.deepStrictEqual(Object.keys(read(object(keys))), keys);
    for (const again of [0, count >> 1, count - 1]) {
      for (let round = 0; round < 2; round += 1) {
        assert.throws(() => read(object([...keys, keys[again]])), /property twice/);
        assert.throws(() => read(object([...keys, two(keys[again])])), /property twice/);
        assert.throws(() => read(object([...keys.slice(0, -1), keys[again === count - 1 ? 0 : again]])), /property twice/);
        assert.throws(() => read(object([...keys, ['I', 2], ['"', 1, '1']])), /property twice/);
      }
    }
    assert.throws(() => read(object(keys, count + 1)), /wrong number of properties/);
    assert.deepStrictEqual(Object.keys(read(object([...keys, ['I', 2]]))), ['1', ...keys]);
    assert.deepStrictEqual(Object.keys(read(object(keys))), keys);
  }
});

test('an object of many sparse indices', () => {
  const indices = Array.from({ length: 500 }, (_, index) => index * 40);
  const bytes = encoding('o', ...indices.flatMap((index) => ['I', varint(index * 2), '0']), '{', varint(500));
  assert.deepStrictEqual(Object.keys(read(bytes)), indices.map(String));
  const twice = encoding('o', ...[...indices, 400].flatMap((index) => ['I', varint(index * 2), '0']), '{', varint(501));
  assert.throws(() => read(twice), /property twice/);
});

test('typed arrays with their buffers, whose lengths do not fit', () => {
  const buffer = (length, ...view) => encoding('A', 2, 'B', varint(length), 'x'.repeat(length), 'V', ...view, '^', 1, '$', 0, 2);
  for (const length of [8, 64, 72, 120, 136, 2_000]) {
    const [array, again] = read(buffer(length, 'F', 0, varint(length), 0));
    assert.ok(array instanceof Float64Array);
    assert.strictEqual(array.buffer, again);
    assert.deepStrictEqual(new Uint8Array(again), new Uint8Array(length).fill(120));
    assert.strictEqual(read(buffer(length, 'B', 0, varint(length - 8), 0))[0].length, length - 8);
    assert.strictEqual(read(buffer(length, '?', 0, varint(length), 0))[0].byteLength, length);
    for (const [message, ...view] of [
      [/beyond its buffer/, 'B', 0, varint(length + 1), 0], [/between two elements/, 'F', 0, varint(length - 1), 0], [/unknown kind/, 'X', 0, varint(length), 0],
      [/flags of a view/, 'B', 0, varint(length), 1], [/flags of a view/, 'B', 0, varint(length), 2], [/beyond its buffer/, 'B', 8, varint(length), 0],
    ]) assert.throws(() => read(buffer(length, ...view)), message);
    const whole = encoding('B', varint(length), 'x'.repeat(length), 'VB', 0, varint(length), 0);
    assert.strictEqual(read(whole).length, length);
    // Without the view, it is a buffer.
    const ends = Array.from({ length: whole.length }, (_, end) => end).filter((end) => end !== 3 + varint(length).length + length);
    for (const end of ends) assert.throws(() => read(whole.slice(0, end)), /Unable to deserialize/, `${end} of ${whole.length} bytes`);
    assert.throws(() => read(whole, [], { maxWeight: length + 100 }), /too much memory/);
  }
});

test('table entries of the wrong kind are refused', () => {
  const buffer = new ArrayBuffer(2);
  for (const carrier of [undefined, 5, [], [CARRIER.HANDLE, buffer], [CARRIER.BUFFER, {}], [CARRIER.BUFFER, new SharedArrayBuffer(2)], [CARRIER.MOVE, buffer]]) {
    assert.throws(() => read(encoding('t', 0), [carrier]), /no buffer at this index/);
  }
  assert.strictEqual(read(encoding('t', 0), [[CARRIER.BUFFER, buffer]]), buffer);
  assert.throws(() => read(encoding('A', 2, 't', 0, 't', 0, '$', 0, 2), [[CARRIER.BUFFER, buffer]]), /taken twice/);
});

test('padding, object counts and immutable buffers are read', () => {
  assert.deepStrictEqual(read(encoding([0, 0], 'A', 2, [0], '?', 5, 'I', 2, [0], 'C', 1, 'x$', 0, 2)), [1, new Uint8Array([120]).buffer]);
});

test('long runs of padding are read once', () => {
  const bytes = new Uint8Array(304_000);
  bytes.set(encoding('A', [0x90, 0x4e]));
  let position = 5;
  for (let index = 0; index < 10_000; index++) bytes[position += 30] = '0'.charCodeAt(0);
  bytes.set(['$'.charCodeAt(0), 0, 0x90, 0x4e], bytes.length - 4);
  assert.strictEqual(read(bytes).length, 10_000);
});

test('a run of padding ends', () => {
  // It is skipped in one piece, however large the value is.
  const padded = (count) => encoding('A', 2, '0', Array.from({ length: count }, () => 0), '0$', 0, 2);
  assert.deepStrictEqual(read(padded(4096)), [null, null]);
  assert.throws(() => read(padded(4097)), /too much padding/);
  const places = { 'a value': [], 'a key': ['o'], 'an element': ['A', 2], 'an end mark': ['A', 0], 'a map': [';'], 'a set': ["'"], 'a cause': ['rc'], 'a source': ['R'], 'a view': ['B', 1, 'x'] };
  for (const [place, parts] of Object.entries(places)) {
    const bytes = new Uint8Array(5000);
    bytes.set(encoding(...parts));
    assert.throws(() => read(bytes), /too much padding/, place);
  }
});

test('a length alone allocates no memory', () => {
  // Sparse arrays may be long without elements: a million slots each would be eight gigabytes.
  const array = ['a', [0xc0, 0x84, 0x3d], '@', 0, [0xc0, 0x84, 0x3d]];
  const bytes = encoding('A', [0xe8, 0x07], ...Array.from({ length: 1000 }, () => array).flat(), '$', 0, [0xe8, 0x07]);
  const before = process.memoryUsage().rss;
  const received = read(bytes);
  assert.deepStrictEqual([received.length, received[999].length, Object.keys(received[5]).length], [1000, 1_000_000, 0]);
  assert.ok(process.memoryUsage().rss - before < 500 * 2 ** 20);
});

for (const [kind, begin] of Object.entries({ arrays: ['A', [0x88, 0x27]], 'sparse arrays': ['a', [0x88, 0x27], 'I', 0] })) {
  test(`nested lengths of ${kind} allocate no memory`, () => {
    // Each array claims a length that the remaining bytes could fill.
    const depth = 5000;
    const bytes = encoding(...Array.from({ length: depth }, () => begin).flat(), 'q'.repeat(3 * depth));
    const before = process.memoryUsage().rss;
    assert.throws(() => read(bytes), /unknown tag/);
    assert.ok(process.memoryUsage().rss - before < 100 * 2 ** 20);
  });
}
