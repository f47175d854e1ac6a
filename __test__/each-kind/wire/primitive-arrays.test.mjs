/* oxlint-disable no-extend-native -- prototypes are not to be trusted */

// Large arrays of primitives, which the host's own serializer writes if its engine is V8.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import ivm from '../../../index.js';
import { cloned, write } from '../../wire/helper.mjs';

const SIZES = [255, 256, 257, 5000];
const many = (size, element) => Array.from({ length: size }, (_, index) => element(index));

const ELEMENTS = {
  integers: (index) => index - 100,
  doubles: (index) => index / 3,
  'special numbers': (index) => [NaN, -0, 0, Infinity, -Infinity, 2 ** 31, -(2 ** 31), 2 ** 53][index % 8],
  'strings of one byte per character': (index) => `é${index}`,
  'strings of two bytes per character': (index) => 'ж'.repeat(index % 7),
  'lone surrogates': (index) => `\ud800${index}`,
  'all kinds': (index) => [1, 'a', 'ж', true, false, null, undefined, 1.5][index % 8],
};

describe('large arrays of primitives', () => {
  for (const [name, element] of Object.entries(ELEMENTS)) {
    test(name, () => {
      for (const size of SIZES) {
        const array = many(size, element);
        assert.deepEqual(cloned(array), array);
        // At odd and even positions, and before objects that are numbered after them.
        const shared = { size };
        const value = { a: array, bc: [array, shared], def: shared, ghij: array };
        const copy = cloned(value);
        assert.deepEqual(copy, value);
        assert.equal(copy.a, copy.ghij);
        assert.equal(copy.bc[1], copy.def);
      }
    });
  }

  test('properties besides the elements are kept', () => {
    const array = Object.assign(many(300, String), { name: { nested: ['x'] }, [-1]: 'negative' });
    assert.deepEqual(cloned(array), array);
    assert.throws(() => cloned(Object.assign(many(300, String), { name: () => 1 })), /could not be cloned/);
    const hidden = Object.defineProperty(many(300, String), 'name', { value: () => 1, enumerable: false });
    assert.deepEqual(cloned(hidden), many(300, String));
  });

  test('arrays that may have holes, among others', () => {
    for (let round = 0; round < 100; round += 1) {
      // oxlint-disable-next-line no-new-array -- it is the length
      const array = new Array(260);
      for (let index = 0; index < array.length; index += 1) array[index] = index % 3 === 0 ? `${round}` : index / 2;
      if (round % 7 === 6) array.name = { round };
      const holes = array.slice();
      delete holes[round];
      const value = [array, many(260, (index) => index + round), holes];
      if (round % 3 > 0) value.shift();
      assert.deepEqual(cloned(value), value);
      for (const each of value) assert.deepEqual(cloned(each), each);
    }
  });

  test('other arrays of a value may have properties besides the elements', () => {
    const named = Object.assign(many(300, String), { name: 1 });
    const value = [many(300, String), named, many(300, (index) => index), { a: named, b: many(257, () => 'ж') }, Object.assign(many(400, String), { all: [many(256, String)] })];
    assert.deepEqual(cloned(value), value);
  });

  test('time grows in proportion to the value where each array holds the next one in a property', () => {
    const processorTime = (size) => {
      let value = many(size * 100, (index) => ({ index }));
      for (let level = 0; level < size; level += 1) value = Object.assign(many(256, (index) => index), { next: value });
      let least = Infinity;
      for (let round = 0; round < 3; round += 1) {
        const start = process.cpuUsage();
        write(value);
        const { user, system } = process.cpuUsage(start);
        least = Math.min(least, (user + system) / 1000);
      }
      return least;
    };
    const [small, large] = [processorTime(50), processorTime(400)];
    assert.ok(large < 24 * small + 100, `${small.toFixed(1)} ms, then ${large.toFixed(1)} ms`);
  });

  test('elements that are not primitives, and holes', () => {
    for (const other of [{ a: 1 }, [1], 10n ** 30n, new Date(0), new Map([[1, 2]])]) {
      const array = many(300, String);
      array[299] = other;
      assert.deepEqual(cloned(array), array);
    }
    const sparse = many(300, String);
    delete sparse[150];
    const copy = cloned(sparse);
    assert.deepEqual(copy, sparse);
    assert.equal(150 in copy, false);
  });

  test('what cannot be copied is refused', () => {
    for (const other of [Symbol('s'), () => 1, Promise.resolve()]) {
      const array = many(300, String);
      array[7] = other;
      assert.throws(() => cloned(array), /could not be cloned/);
    }
    // The length decides what writes the array.
    for (const length of [10, 300]) {
      const array = Object.assign(many(length, String), { property: () => 1 });
      assert.throws(() => cloned(array), { name: 'TypeError', message: /could not be cloned/, code: 'ERR_ISOLATE_TRANSFER' }, `${length}`);
    }
  });

  test('a getter that changes the array', () => {
    const array = many(300, String);
    Object.defineProperty(array, 5, { get: () => { array.length = 100; return 'got'; }, enumerable: true });
    const copy = cloned(array);
    assert.equal(copy.length, 300);
    assert.equal(copy[5], 'got');
    assert.equal(copy[99], '99');
    assert.equal(copy[200], undefined);
  });

  test('subclasses, and prototypes with elements', () => {
    class List extends Array {}
    assert.deepEqual([...cloned(List.from(many(300, String)))], many(300, String));
    Array.prototype[3] = 'inherited';
    try {
      assert.deepEqual(cloned(many(300, String)), many(300, String));
    } finally {
      delete Array.prototype[3];
      Array.prototype.length = 0;
    }
  });

  test('the limit of bytes applies', () => assert.throws(() => cloned(many(5000, String), { maxBytes: 10_000 }), { code: 'ERR_ISOLATE_LIMIT' }));

  test('guests read them', () => {
    const isolate = new ivm.Isolate({ memoryLimit: 64 });
    const context = isolate.createContextSync();
    for (const element of Object.values(ELEMENTS)) {
      const array = many(1000, element);
      context.global.setSync('value', { x: [array] }, { copy: true });
      assert.deepEqual(context.evalSync('value', { copy: true }), { x: [array] });
      assert.equal(context.evalSync('value.x[0].length'), 1000);
    }
    isolate.dispose();
  });
});
