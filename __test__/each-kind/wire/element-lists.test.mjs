/* oxlint-disable no-extend-native -- prototypes are not to be trusted */

// Large arrays of objects, with and without properties besides their elements.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { cloned, read, write } from '../../wire/helper.mjs';

const { hasOnlyElements } = createRequire(import.meta.url)('../../../surface/host/wire/element-lists.js');

const SIZES = [1023, 1024, 1025, 5000];
const records = (size) => Array.from({ length: size }, (_, id) => ({ id }));
const isNode = process.versions.bun === undefined && globalThis.Deno === undefined;
const loud = () => { throw new Error('code of the value ran'); };

describe('large arrays of objects', () => {
  test('those without other properties are known on Node, after some of them', () => {
    for (let elements = 0; elements < 65_536; elements += 4096) assert.equal(hasOnlyElements(records(4096)), false);
    for (const size of SIZES) assert.equal(hasOnlyElements(records(size)), isNode && size >= 1024);
    assert.equal(hasOnlyElements(Object.assign(records(2000), { named: 1 })), false);
  });

  for (const [name, property] of Object.entries({ named: { more: [1] }, '-1': 'negative', '01': 'no index', '': 'empty', '4294967295': 'too large' })) {
    test(`the property ${JSON.stringify(name)} is kept`, () => {
      for (const size of SIZES) {
        const array = Object.assign(records(size), { [name]: property });
        const copy = cloned(array);
        assert.deepEqual(copy, array);
        assert.deepEqual(copy[name], property);
      }
    });
  }

  test('a property that cannot be cloned is refused, a hidden one and symbols are left out', () => {
    for (const size of SIZES) {
      assert.throws(() => write(Object.assign(records(size), { named: () => 1 })), /could not be cloned/);
      const hidden = Object.defineProperty(records(size), 'named', { value: () => 1, enumerable: false });
      assert.deepEqual(cloned(Object.assign(hidden, { [Symbol('s')]: () => 1 })), records(size));
    }
  });

  test('getters run once, and in order', () => {
    for (const size of SIZES) {
      const reads = [];
      const array = records(size);
      Object.defineProperty(array, 'named', { get() { reads.push('named'); return 1; }, enumerable: true });
      Object.defineProperty(array, 7, { get() { reads.push('7'); return 'seven'; }, enumerable: true });
      const copy = cloned(array);
      assert.deepEqual(reads, ['7', 'named']);
      assert.deepEqual([copy[7], copy.named, copy.length], ['seven', 1, size]);
    }
  });

  test('a property that an element adds is kept', () => {
    for (const size of SIZES) {
      const array = records(size);
      Object.defineProperty(array[3], 'id', { get() { array.named = 'added'; array.push('one more'); return 3; }, enumerable: true });
      const copy = cloned(array);
      assert.deepEqual([copy.named, copy.length], ['added', size]);
    }
  });

  test('no code of the array or of its prototypes runs', () => {
    for (const size of SIZES) {
      const plain = records(size);
      assert.deepEqual(cloned(Object.defineProperty(records(size), Symbol.toStringTag, { get: loud })), plain);
      assert.deepEqual(cloned(Object.defineProperty(records(size), 'constructor', { get: loud, enumerable: false })), plain);
      assert.deepEqual(cloned(Object.defineProperty(records(size), 'constructor', { value: { [Symbol.hasInstance]: loud }, enumerable: false })), plain);
      for (const [object, key, descriptor] of [
        [Array.prototype, Symbol.toStringTag, { get: loud }],
        [Object.prototype, Symbol.toStringTag, { get: loud }],
        [Array.prototype, 'constructor', { get: loud }],
      ]) {
        const before = Object.getOwnPropertyDescriptor(object, key);
        const array = records(size);
        Object.defineProperty(object, key, { ...descriptor, configurable: true });
        let written;
        try {
          written = write(array);
        } finally {
          delete object[key];
          if (before !== undefined) Object.defineProperty(object, key, before);
        }
        assert.deepEqual(read(written.bytes, []), plain);
      }
    }
  });
});
