// Objects with a key that is an index. Engines allocate room up to that index.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

test('an object with one index uses no memory for lower indices', () => {
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  const context = isolate.createContextSync();
  const before = process.memoryUsage().rss;
  const objects = context.evalSync(`
    Array.from({ length: 60_000 }, (_, i) => {
      const object = {};
      object[5_000_000] = 0;
      object[300 + i % 20] = i;
      delete object[5_000_000];
      return object;
    })`, { copy: true, timeout: 30_000 });
  const taken = process.memoryUsage().rss - before;
  assert.deepEqual([objects.length, Object.entries(objects[41])], [60_000, [['301', 41]]]);
  // With room for all indices it would be 220 MB more.
  assert.ok(taken < 160e6, `${Math.round(taken / 1e6)} MB`);
  isolate.dispose();
});

test('objects with indices survive a round trip', () => {
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  const context = isolate.createContextSync();
  for (const expression of [
    '({ 0: 1, 1: 2, 2: 3 })', '({ 17: 1, 18: 2, 20: 3, x: 4, 1000: 5 })', '({ 4294967294: 1, 20: 2 })', '({ 20: 1, 4294967293: 2, 4294967294: 3, 4294967295: 4 })',
    'Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [i * 7, i]))', '({ b: 1, 300: 2, a: 3 })',
  ]) {
    const value = context.evalSync(expression, { copy: true });
    // oxlint-disable-next-line no-eval -- the same in this realm
    assert.deepEqual(Object.entries(value), Object.entries((0, eval)(expression)), expression);
  }
  isolate.dispose();
});
