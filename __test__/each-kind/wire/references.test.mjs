// References to objects that were written before, in values of many objects.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cloned as clonedAfterAny } from '../../wire/helper.mjs';

/** Around the numbers of objects at which the writer keeps them in another way. */
const SIZES = [7, 8, 9, 4095, 4096, 4097, 5000, 8192, 12_287, 12_288, 12_289, 20_000];

/** What the writer does also depends on whether the value before was large. */
function cloned(value) {
  clonedAfterAny([1]);
  return clonedAfterAny(value);
}

describe('references', () => {
  test('to any of many objects', () => {
    for (const size of SIZES) {
      const objects = Array.from({ length: size }, (_, id) => (id % 3 === 0 ? [id] : { id }));
      const ids = [0, 1, 6, 7, 8, 4094, 4095, 4096, 12_286, 12_287, 12_288, size - 2, size - 1].filter((id) => id < size);
      for (const first of [0, 5000, 12_288, size - 1]) {
        // Numbers are given when the first reference is written.
        const early = first < size ? objects.toSpliced(first + 1, 0, objects[first]) : objects;
        const copy = cloned([early, ids.map((id) => objects[id]), { last: objects[size - 1] }]);
        const list = first < size ? copy[0].toSpliced(first + 1, 1) : copy[0];
        assert.deepEqual(list, objects);
        if (first < size) assert.equal(copy[0][first + 1], list[first]);
        assert.ok(ids.every((id, index) => copy[1][index] === list[id]) && copy[2].last === list[size - 1]);
      }
    }
  });

  test('after which other objects follow', () => {
    for (const size of SIZES) {
      const list = Array.from({ length: size }, (_, id) => ({ id }));
      list.splice(size >> 1, 0, list[1]);
      const views = Array.from({ length: 5 }, () => new Uint8Array(4));
      const copy = cloned({ list, again: list, views, sameViews: [...views], last: list.at(-1) });
      assert.deepEqual(copy.list, list);
      assert.ok(copy.list[size >> 1] === copy.list[1] && copy.again === copy.list && copy.last === copy.list.at(-1));
      assert.ok(copy.views.every((view, index) => view === copy.sameViews[index]));
    }
  });

  test('of each object to the one before', () => {
    for (const size of SIZES) {
      const objects = Array.from({ length: size }, (_, id) => ({ id, previous: undefined }));
      for (let id = 1; id < size; id++) objects[id].previous = objects[id - 1];
      const copy = cloned(objects);
      assert.ok(copy.every((object, id) => object.id === id && object.previous === copy[id - 1]));
    }
  });

  test('in values after a large one', () => {
    const large = Array.from({ length: 13_000 }, (_, id) => ({ id }));
    for (const size of [9, 5000, 12_289]) {
      clonedAfterAny(large);
      const copy = clonedAfterAny([...large.slice(0, size), large[0], large[size - 1]]);
      assert.ok(copy[size] === copy[0] && copy[size + 1] === copy[size - 1]);
      assert.deepEqual(copy.slice(0, size), large.slice(0, size));
    }
  });
});
