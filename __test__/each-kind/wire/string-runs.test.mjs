/* oxlint-disable no-extend-native -- prototypes are not to be trusted */

// Many strings in a row, which the host's own deserializer creates if its engine is V8.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.js';
import { cloned, encoding, read, Reader, readHooks, write } from '../../wire/helper.mjs';

const many = (size, element) => Array.from({ length: size }, (_, index) => element(index));
/** Around the fewest and the most strings of a run. */
const SIZES = [23, 24, 25, 127, 128, 129, 4095, 4096, 4097, 9000];

const ELEMENTS = {
  'one byte per character': (index) => `é${index}`,
  'two bytes per character': (index) => `${'ж'.repeat(index % 9)}日`,
  'lone surrogates': (index) => (index % 2 === 0 ? `\ud800${index}` : `${index}\udfff`),
  'empty strings': (index) => (index % 3 === 0 ? '' : 'ж'),
  'of lengths around those of longer numbers': (index) => 'x'.repeat(126 + (index % 4)) + (index % 2 === 0 ? '' : 'ж'),
  'with other values between them': (index) => (index % 40 === 39 ? [index, null, 1.5, 'ж', { a: 'b' }][index % 5] : `s${index}`),
  'with holes': (index) => (index % 100 === 99 ? undefined : `s${index}`),
};

describe('many strings in a row', () => {
  for (const [name, element] of Object.entries(ELEMENTS)) {
    test(name, () => {
      for (const size of SIZES) {
        const array = many(size, element);
        if (name === 'with holes') for (let index = 99; index < size; index += 100) delete array[index];
        const shared = { size };
        for (const value of [array, { a: array, bc: [shared, array], d: shared }]) {
          const { bytes, table } = write(value);
          const before = bytes.slice();
          assert.deepEqual(read(bytes, table), value);
          assert.deepEqual(bytes, before);
        }
      }
    });
  }

  test('long strings', () => {
    for (const length of [8191, 8192, 16_383, 16_384, 70_000]) {
      const array = many(60, (index) => (index % 2 === 0 ? 'y' : 'ж').repeat(index % 7 === 0 ? length : 300));
      assert.deepEqual(cloned(array), array);
    }
  });

  test('properties after them', () => {
    const array = Object.assign(many(100, String), { name: 'ж', other: ['x'] });
    assert.deepEqual(cloned(array), array);
  });

  test('reading in parts', () => {
    const value = [many(9000, ELEMENTS['two bytes per character']), many(9000, ELEMENTS['one byte per character'])];
    const { bytes } = write(value);
    const reader = new Reader(bytes, [], readHooks);
    let parts = 1;
    while (!reader.readUntil(0)) parts++;
    assert.deepEqual(reader.result, value);
    assert.ok(parts > 2, parts);
  });

  test('an element of a prototype is not in the way', () => {
    let calls = 0;
    Object.defineProperty(Array.prototype, 30, { set() { calls++; }, get: () => 'inherited', configurable: true });
    try {
      const copy = cloned({ list: many(60, String) });
      assert.deepEqual([copy.list[30], copy.list[59], calls], ['30', '59', 0]);
    } finally {
      delete Array.prototype[30];
      Array.prototype.length = 0;
    }
  });

  test('malformed ones are refused', () => {
    const strings = many(40, () => ['"', 2, 'ab']).flat();
    const start = ['A', 41, ...strings];
    assert.deepEqual(read(encoding(...start, '"', 1, 'c', '$', 0, 41)), [...many(40, () => 'ab'), 'c']);
    for (const [name, bytes, message] of [
      ['half a character', [...start, 'c', 3, 'abc', '$', 0, 41], /half a character/],
      ['too few', ['A', 41, ...strings, '$', 0, 41], /unknown tag/],
      ['too many', ['A', 39, ...strings, '$', 0, 39], /unknown tag/],
      ['another length', [...start, '"', 1, 'c', '$', 0, 40], /wrong number/],
      ['a string beyond the end', [...start, '"', 100, 'c', '$', 0, 41], /unexpected end/],
      ['a length without an end', [...start, '"', 255, 255, 255, 255, 255, '$', 0, 41], /out of range|unexpected end/],
      ['no end', start, /unexpected end/],
      ['a part of an end', [...start, '"', 1, 'c', '$'], /unexpected end/],
      ['an end of one byte', [...start, '"', 1, 'c', '$', 0], /unexpected end/],
    ]) assert.throws(() => read(encoding(...bytes)), message, name);
  });

  test('the limit of memory applies', () => {
    const { bytes } = write(many(1000, ELEMENTS['two bytes per character']));
    assert.throws(() => read(bytes, [], { maxWeight: 40_000 }), { code: 'ERR_ISOLATE_LIMIT' });
    assert.equal(read(bytes, [], { maxWeight: 200_000 }).length, 1000);
  });

  test('guests write them', () => {
    const isolate = new ivm.Isolate({ memoryLimit: 64 });
    const context = isolate.createContextSync();
    for (const name of ['one byte per character', 'two bytes per character', 'lone surrogates']) {
      const array = many(5000, ELEMENTS[name]);
      context.global.setSync('value', { x: [array] }, { copy: true });
      assert.deepEqual(context.evalSync('value', { copy: true }), { x: [array] });
      assert.deepEqual(context.evalSync('value.x[0].slice(1)', { copy: true }), array.slice(1));
    }
    isolate.dispose();
  });
});
