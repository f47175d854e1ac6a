// The memory of a value in the host is bounded, however few bytes encode it.

import assert from 'node:assert';
import { describe, test } from 'node:test';
import { createRequire } from 'node:module';
import { readHooks } from '../../wire/helper.mjs';

const { deserialize } = createRequire(import.meta.url)('../../../surface/host/wire/index.js');

const MAX = 2 ** 20;
const varint = (number) => { const bytes = []; do { bytes.push((number & 127) | (number > 127 ? 128 : 0)); number >>>= 7; } while (number > 0); return bytes; };
/** An array of `count` values, each encoded by these bytes. */
const arrayOf = (count, item) => Uint8Array.from([255, 15, 65, ...varint(count), ...Array.from({ length: count }, () => item).flat(), 36, 0, ...varint(count)]);
const read = (bytes) => deserialize(bytes, [], { ...readHooks, maxWeight: MAX });

const refused = { name: 'RangeError', code: 'ERR_ISOLATE_LIMIT', message: `Value would take too much memory: the limit is ${MAX} bytes` };
const items = {
  'empty objects': [111, 123, 0],
  'arrays of holes': [97, 16, 64, 0, 16],
  'empty arrays': [65, 0, 36, 0, 0],
  maps: [59, 58, 0],
  sets: [39, 44, 0],
  errors: [114, 46],
  'objects with a property': [111, 34, 1, 97, 95, 123, 1],
  strings: [34, 2, 97, 98],
};

describe('many small values', () => {
  for (const [what, item] of Object.entries(items)) {
    test(what, () => {
      assert.strictEqual(read(arrayOf(500, item)).length, 500);
      assert.throws(() => read(arrayOf(40_000, item)), refused);
    });
  }
});

test('one array with a large capacity', () => {
  const sparse = (length) => Uint8Array.from([255, 15, 97, ...varint(length), ...Array.from({ length: Math.ceil(length / 16) }, (_, i) => [73, ...varint(i * 2), 48]).flat(), 64, ...varint(Math.ceil(length / 16)), ...varint(length)]);
  assert.strictEqual(read(sparse(16_000)).length, 16_000);
  assert.throws(() => read(sparse(160_000)), refused);
});

test('one array of many numbers', () => {
  assert.strictEqual(read(arrayOf(80_000, [73, 2])).length, 80_000);
  assert.throws(() => read(arrayOf(100_000, [73, 2])), refused);
});

describe('empty values use memory in hosts', () => {
  // The bytes of one value. A quarter more than fit are refused, and three quarters are not.
  for (const [what, item, bytes] of [
    ['maps', [59, 58, 0], 308], ['sets', [39, 44, 0], 292], ['buffers', [66, 0], 372], ['resizable buffers', [126, 0, 16], 2420],
    ['views', [66, 0, 86, 66, 0, 0, 0], 604], ['dates', [68, 0, 0, 0, 0, 0, 0, 0, 0], 124],
  ]) {
    test(what, () => {
      assert.strictEqual(read(arrayOf(Math.floor(MAX * 0.75 / bytes), item)).length, Math.floor(MAX * 0.75 / bytes));
      assert.throws(() => read(arrayOf(Math.floor(MAX * 1.25 / bytes), item)), refused);
    });
  }
});
