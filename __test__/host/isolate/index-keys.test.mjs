// Objects with a key that is an index. Engines allocate room up to that index.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { host, run } from '../../harness.mjs';

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
    'Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [i * 7, i]))', 'Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [i + 100, { 50: i, [i]: 1 }]))', '({ b: 1, 300: 2, a: 3 })',
  ]) {
    const value = context.evalSync(expression, { copy: true });
    // oxlint-disable-next-line no-eval -- the same in this realm
    const expected = (0, eval)(expression);
    assert.deepEqual(value, expected, expression);
    assert.deepEqual(Object.keys(value), Object.keys(expected), expression);
  }
  isolate.dispose();
});

test('after an object with indices, the writer of other objects stays optimized', { skip: host !== 'node24' }, async () => {
  const { code, stdout, stderr } = await run(`
    const isolate = new ivm.Isolate();
    const sink = isolate.createContextSync().evalSync('(value) => Object.keys(value).length', { reference: true });
    const value = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [100 + i, { id: i, name: 'name' }]));
    for (let i = 0; i < 500; i += 1) sink.applySync(undefined, [value], { arguments: { copy: true } });
    isolate.dispose();`, { hostArgs: ['--trace-deopt'] });
  assert.equal(code, 0, stderr);
  const times = stdout.split('\n').filter((line) => line.includes('begin. deoptimizing') && /JSFunction record\b/.test(line)).length;
  // It was more than a hundred.
  assert.ok(times < 30, `${times} times`);
});
