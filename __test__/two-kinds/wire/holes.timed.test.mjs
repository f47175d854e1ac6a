// Arrays that may have holes are as fast to read as those that cannot: V8 writes every array that was made by `new Array(n)` in the sparse form.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from '../../wire/helper.mjs';

const COUNT = 20_000;
const RUNS = 9;
/** In one that defines each element by its key, sparse arrays take 20 times as long. */
const MAX_RATIO = 6;

const code = (text) => text.charCodeAt(0);
const many = (item) => Uint8Array.from([255, 15, code('A'), COUNT & 127 | 128, COUNT >> 7 & 127 | 128, COUNT >> 14, ...Array.from({ length: COUNT }, () => item).flat(), code('$'), 0, COUNT & 127 | 128, COUNT >> 7 & 127 | 128, COUNT >> 14]);
const elements = [73, 2, 73, 4, 73, 6];
const dense = many([code('A'), 3, ...elements, code('$'), 0, 3]);
const sparse = many([code('a'), 3, ...elements.flatMap((each, index) => (index % 2 === 0 ? [73, index, each] : [each])), code('@'), 3, 3]);

function fastest(bytes) {
  let best = Infinity;
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now();
    assert.equal(read(bytes).length, COUNT);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

test('small arrays that may have holes', () => {
  assert.deepEqual(read(sparse)[7], [1, 2, 3]);
  const [first, second] = [fastest(dense), fastest(sparse)];
  assert.ok(second < MAX_RATIO * first, `${second} ms instead of ${first} ms`);
});
