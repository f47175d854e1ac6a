// Isolates that nobody refers to any more give their memory back, without anybody disposing them. (isolated-vm's own test of that
// looks before the turn of the event loop ends; Node-API tells us only after it.)

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { collectorArguments, run } from '../../harness.mjs';

test('forgotten isolates give their memory back', async () => {
  const { stdout, stderr, code } = await run(`
    const collect = globalThis.Bun ? () => globalThis.Bun.gc(true) : () => globalThis.gc();
    let contexts = Array.from({ length: 300 }, () => new ivm.Isolate({ memoryLimit: 16 }).createContextSync());
    for (const context of contexts) context.evalSync('globalThis.kept = new Uint8Array(500_000).fill(1)');
    collect();
    const before = process.memoryUsage.rss();
    contexts = undefined;
    const until = Date.now() + 20_000;
    let back = 0;
    while (back < 40 * 2 ** 20 && Date.now() < until) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 20));
      back = before - process.memoryUsage.rss();
    }
    console.log(back >= 40 * 2 ** 20 ? 'back' : back + ' bytes');`, { hostArgs: collectorArguments() });
  assert.deepEqual({ stdout, stderr, code }, { stdout: 'back\n', stderr: '', code: 0 });
});
