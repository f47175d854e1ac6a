// The reader's time for a value is linear in its size, or the reader refuses the value. V8 takes much longer for these values.
// Bun's hashes are not those of `collisions.mjs`, so most values arrive there.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { bigints, doubles, indices } from '../../wire/collisions.mjs';
import { Reader, write } from '../../wire/helper.mjs';

const FIXED_TIME = 250;
const TIME_PER_BYTE = 500e-6;
/** Milliseconds more, for what is not reading, and a machine with much else to do. */
const MORE_TIME = 1_250;
const OVER = ['ERR_ISOLATE_LIMIT', 'ERR_ISOLATE_TRANSFER'];

/** Keys that make the elements of an object a dictionary and back, again and again. */
function gaps(count) {
  const object = {};
  for (let index = 0; index < count; index += 1) object[index] = 0;
  for (let jump = 0; jump < count / 200; jump += 1) object[count + jump * 1_100] = 0;
  return object;
}

const map = (keys) => new Map(keys.map((key) => [key, 0]));
const VALUES = {
  'a Set of doubles': [16_000, (count) => new Set(doubles(count))],
  'a Map of doubles': [16_000, (count) => map(doubles(count))],
  'a Map of BigInts': [8_000, (count) => map(bigints(count))],
  'a Map of strings': [16_000, (count) => map(indices(count))],
  'an object with indices far apart': [100_000, (count) => Object.fromEntries(indices(count).map((key) => [key, 0]))],
  'an object with doubles': [20_000, (count) => Object.fromEntries(doubles(count).map((key) => [key, 0]))],
  'an object with gaps': [100_000, gaps],
  'an array with gaps': [100_000, (count) => Object.assign([], gaps(count))],
  'an array with names': [20_000, (count) => Object.assign([], Object.fromEntries(doubles(count).map((key) => [key, 0])))],
};

describe('the reader', () => {
  for (const [what, [count, make]] of Object.entries(VALUES)) {
    test(`${what}: linear time, or refused`, () => {
      for (const part of [count / 2, count]) {
        const { bytes } = write(make(part));
        const reader = new Reader(bytes, [], { resolve: () => undefined });
        const start = performance.now();
        try {
          reader.run();
        } catch (error) {
          assert.ok(OVER.includes(error.code), error);
        }
        const took = performance.now() - start;
        const max = FIXED_TIME + (reader.position + reader.weight) * TIME_PER_BYTE;
        assert.ok(took < max + MORE_TIME, `${took} of ${max} ms`);
      }
    });
  }

  test('honest values of the same size use a small part of their time', () => {
    const honest = [
      new Set(Array.from({ length: 20_000 }, (_, index) => index / 7)), new Map(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, { index }])),
      Array.from({ length: 20_000 }, (_, index) => ({ id: index, at: { x: 1 } })), Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, index])),
    ];
    for (const value of honest) {
      const reader = new Reader(write(value).bytes, [], { resolve: () => undefined });
      const start = performance.now();
      reader.run();
      const took = performance.now() - start;
      const max = FIXED_TIME + (reader.position + reader.weight) * TIME_PER_BYTE;
      // A thirtieth, on a machine that has nothing else to do.
      assert.ok(took < max / 2, `${took} of ${max} ms`);
    }
  });

  test('slow reading is interrupted soon', () => {
    // Each of these takes the host longer than the one before it, as keys that collide do.
    let calls = 0;
    const { bytes } = write(Array.from({ length: 4_000 }, (_, index) => [new SharedArrayBuffer(8), index]));
    const table = Array.from({ length: 4_000 }, () => 0);
    const reader = new Reader(bytes, table, {
      resolve() {
        calls += 1;
        for (const until = performance.now() + calls / 1_000; performance.now() < until;);
        return new SharedArrayBuffer(8);
      },
    });
    let max = 0;
    assert.throws(() => {
      for (let done = false; !done;) {
        const before = calls;
        done = reader.readUntil(performance.now() + 16);
        // These keys take half a millisecond.
        if (before > 500) max = Math.max(max, calls - before);
      }
    }, { code: 'ERR_ISOLATE_LIMIT' });
    assert.ok(calls < 4_000 && max < 100, `${max} of ${calls}`);
  });
});
