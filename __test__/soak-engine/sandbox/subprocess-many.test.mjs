// Hundreds of executions of `SubprocessSandbox` that run out of memory, several at a time. None leaves anything behind.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { childrenOf, noTools, openDescriptors, residentBytes, startedChildren, until } from '../../sandbox/subprocess-helper.mjs';

const AT_A_TIME = 4;
const WARM_UP = 100;
const ALL = 600;
/** The host's growth: pages come and go, but some kilobytes per execution would be more. */
const MAX_GROWTH = 16e6;

/** Each grows in a different way. */
const CODES = [
  'const all = []; for (;;) all.push(new Array(1000).fill(1.5))',
  'const all = []; for (;;) all.push("xy".repeat(50_000).split(""))',
  'const all = new Map(); for (;;) all.set({}, new Array(1000).fill(all.size))',
];

test('hundreds of executions leave no process, no descriptor and no memory', { timeout: 300_000 }, async () => {
  const { SubprocessSandbox } = ivm;
  // Some in waiting processes, some in new ones.
  const sandboxes = [1, 0].map((poolSize) => new SubprocessSandbox({ memoryLimit: 8, poolSize, timeout: 60_000 }));
  let next = 0;
  const runUpTo = async (count) => {
    while (next < count) {
      const number = next;
      next += 1;
      const { result, failure } = await sandboxes[number % sandboxes.length].execute(CODES[number % CODES.length], [], noTools);
      assert.deepEqual([result, failure?.code], [null, 'ERR_ISOLATE_MEMORY'], `${CODES[number % CODES.length]}: ${JSON.stringify(failure)}`);
    }
  };
  const rounds = async (count) => {
    await Promise.all(Array.from({ length: AT_A_TIME }, () => runUpTo(count)));
    // Only one waiting process is left, which has reported its confinement.
    await sandboxes[0].confinement();
    await until('one waits, and none besides', () => startedChildren().length === 1 && childrenOf().length === 1);
    return { descriptors: openDescriptors(), bytes: residentBytes() };
  };
  const before = await rounds(WARM_UP);
  const after = await rounds(ALL);
  assert.equal(next, ALL);
  assert.ok(after.descriptors <= before.descriptors, `${after.descriptors - before.descriptors} descriptors more`);
  assert.ok(after.bytes - before.bytes < MAX_GROWTH, `${after.bytes - before.bytes} bytes more`);
});
