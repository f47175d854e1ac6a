// Short lists of primitives have a reader of their own. What it reads, the reader of all values reads in the same way.

/* oxlint-disable no-extend-native -- prototypes are not to be trusted */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { read, write } from '../../wire/helper.mjs';

const { shortList } = createRequire(import.meta.url)('../../../surface/host/wire/index.js');

const LISTS = [
  [], [1], ['a', 'b'], ['$json', 'items', 3, 'name'], [true, false, null, undefined], [0, -1, 63, 64, -65, 8191, 2 ** 27 - 1, -(2 ** 27)],
  [1.5, -0, NaN, Infinity, 2 ** 53], [''], ['x'.repeat(12), 'y'.repeat(13), 'z'.repeat(127)],
  ['\0\u00ff'], [1, 2, 3, 4, 5, 6, 7, 8],
];
const OTHERS = [[2 ** 27], [2 ** 31 - 1], [-(2 ** 31)], [1, 2, 3, 4, 5, 6, 7, 8, 9], ['x'.repeat(128)], ['\u0100'], [1n], [[]], [{}], [new Date(0)], Object.assign([1], { a: 1 }), {}, 'text', new Map()];

/** The bytes of a value, and a copy in a longer buffer, as a value lies in the buffer that all small values share. */
function inBuffer(value) {
  const { bytes } = write(value);
  const buffer = new Uint8Array(bytes.length + 64).fill(255);
  buffer.set(bytes);
  return { bytes, buffer };
}

test('short lists of primitives are read', () => {
  for (const list of LISTS) {
    const { bytes, buffer } = inBuffer(list);
    const result = shortList(buffer, bytes.length);
    assert.deepEqual(result, list);
    assert.deepEqual(Reflect.ownKeys(result), Reflect.ownKeys(list));
  }
});

test('everything else is left to the other reader', () => {
  for (const value of OTHERS) {
    const { bytes, buffer } = inBuffer(value);
    assert.equal(shortList(buffer, bytes.length), undefined);
  }
});

test('malformed bytes give what the other reader gives, or are left to it', () => {
  let accepted = 0;
  for (const list of LISTS) {
    const { bytes, buffer } = inBuffer(list);
    for (let end = 0; end < bytes.length; end += 1) assert.equal(shortList(buffer, end), undefined);
    for (let at = 0; at < bytes.length; at += 1) {
      for (const change of [1, 2, 3, 16, 64, 128, 255]) {
        buffer[at] ^= change;
        const result = shortList(buffer, bytes.length);
        if (result !== undefined) {
          assert.deepEqual(result, read(buffer.slice(0, bytes.length)));
          accepted += 1;
        }
        buffer[at] ^= change;
      }
    }
  }
  assert.ok(accepted > 100, String(accepted));
});

test('no setter of a prototype is called', () => {
  const { bytes, buffer } = inBuffer(['a', 1]);
  Object.defineProperty(Array.prototype, 0, { set() { throw new Error('called'); }, configurable: true });
  try {
    assert.deepEqual(Object.entries(shortList(buffer, bytes.length)), [['0', 'a'], ['1', 1]]);
  } finally {
    delete Array.prototype[0];
  }
});
