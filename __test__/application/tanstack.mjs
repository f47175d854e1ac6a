// Code that calls tools, in the contexts of @tanstack/ai-isolate-node. scripts/product/application.mjs installs what this imports. All assertions
// also hold with isolated-vm itself, except the memory limit: there, the call that exceeds it never settles.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { createNodeIsolateDriver } from '@tanstack/ai-isolate-node';

const { name } = createRequire(import.meta.url)('isolated-vm/package.json');
// The probe starts `process.execPath` with Node's options.
const driver = createNodeIsolateDriver({ memoryLimit: 32, timeout: 400, skipProbe: true });
const seen = [];
const binding = (tool, execute) => ({ name: tool, description: tool, inputSchema: { type: 'object' }, execute });
const bindings = {
  price: binding('price', async ({ item }) => {
    await sleep(2);
    seen.push(item);
    return { item, price: item.length };
  }),
  refuse: binding('refuse', async () => { throw new TypeError('out of stock'); }),
};

let count = 0;
async function withContext(body, config = {}) {
  const context = await driver.createContext({ bindings, ...config });
  try {
    return await body((code) => {
      count += 1;
      return context.execute(code);
    }, context);
  } finally {
    await context.dispose();
  }
}

await withContext(async (execute) => {
  const valueOf = async (code) => {
    const { success, value, error } = await execute(code);
    assert.equal(success, true, error?.message);
    return value;
  };
  assert.equal(await valueOf('return 6 * 7'), 42);
  assert.deepEqual(await valueOf('return { a: [1, null, "x"] }'), { a: [1, null, 'x'] });
  assert.deepEqual(await valueOf('const found = await price({ item: "fig" }); return found.price'), 3);
  assert.deepEqual(await valueOf('const all = await Promise.all(["a", "bb"].map((item) => price({ item }))); return all.map(({ price }) => price)'), [1, 2]);
  assert.deepEqual(seen, ['fig', 'a', 'bb']);
  assert.equal(await valueOf('try { await refuse({}); return "none" } catch (error) { return error.message }'), 'out of stock');
  assert.equal(await valueOf('globalThis.kept = 1; return typeof process + typeof require'), 'undefinedundefined');
  assert.equal(await valueOf('return kept'), 1);
  const { logs } = await execute('console.log("a", { b: 1 }); console.warn("c"); console.error(2)');
  assert.deepEqual(logs, ['a {"b":1}', 'WARN: c', 'ERROR: 2']);
});

// Errors and limits.
await withContext(async (execute) => {
  const errorOf = async (code) => (await execute(code)).error;
  assert.match((await errorOf('throw new RangeError("mine")')).message, /mine/);
  assert.match((await errorOf('return 1 +')).message, /Unexpected token/);
  assert.match((await errorOf('for (;;);')).message, /time/i);
  assert.equal((await execute('return 1')).success, true);
});
if (name !== 'isolated-vm') {
  await withContext(async (execute, context) => {
    assert.equal((await execute('const all = []; for (;;) all.push(new Array(1_000).fill(all));')).success, false);
    await context.dispose().catch(() => {});
  }, { memoryLimit: 16, timeout: 20_000 }).catch((error) => assert.match(error.message, /disposed/));
}

const sums = await Promise.all(Array.from({ length: 8 }, (_, index) => withContext(async (execute) => (await execute(`return (await price({ item: "${'x'.repeat(index)}" })).price`)).value)));
assert.deepEqual(sums, [0, 1, 2, 3, 4, 5, 6, 7]);
console.log(`${count} programs with ${name}`);
