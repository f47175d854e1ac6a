// The bytes of a large value are not copied in one piece before the host reads them.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { Gaps } from '../../hostile/measure.mjs';

const COUNT = 24;
const LENGTH = 10 << 20;

/** Milliseconds of the processor to write as many bytes to new memory. */
function timeToWrite() {
  const before = process.cpuUsage();
  new Uint8Array(COUNT * LENGTH).fill(1);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The longest piece of reading the value, in milliseconds. */
async function longestGap(context) {
  const watch = new Gaps();
  const list = await context.eval('value', { copy: true });
  const gap = watch.take();
  watch.stop();
  assert.deepEqual(list.map((text) => text.length), Array(COUNT).fill(LENGTH));
  return gap;
}

test('a value that repeats a large string', { timeout: 120_000 }, async () => {
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  const context = await isolate.createContext();
  await context.eval(`const value = Array(${COUNT}).fill('x'.repeat(${LENGTH})); 0`);
  // A collection of the host's heap can come between.
  const gaps = [await longestGap(context), await longestGap(context), await longestGap(context)];
  const time = timeToWrite();
  isolate.dispose();
  assert.ok(Math.min(...gaps) < time, `${gaps} ms, while writing takes ${time} ms`);
});
