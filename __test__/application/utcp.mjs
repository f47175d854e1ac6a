// An agent's use of @utcp/code-mode: tools are registered, and code that calls them runs in isolates of the package.
// scripts/product/application.mjs installs what this imports. All assertions also hold with isolated-vm itself.

// oxlint-disable-next-line import/no-unassigned-import -- as the application's own documents have it
import '@utcp/sdk';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodeModeUtcpClient } from '@utcp/code-mode';
import { addFunctionToUtcpDirectCall } from '@utcp/direct-call';

const tool = (name, ...parameters) => ({
  name,
  description: `The tool ${name}`,
  tags: [],
  inputs: { type: 'object', properties: Object.fromEntries(parameters), required: parameters.map(([parameter]) => parameter) },
  outputs: { type: 'object', properties: {} },
  tool_call_template: { call_template_type: 'direct-call', callable_name: name },
});
const item = ['item', { type: 'string' }];
const count = ['count', { type: 'number' }];

addFunctionToUtcpDirectCall('shopManual', async () => ({
  utcp_version: '1.0.0',
  manual_version: '1.0.0',
  tools: [tool('price', item), tool('order', item, count)],
}));
addFunctionToUtcpDirectCall('price', async (name) => {
  await sleep(5);
  return { item: name, price: name.length };
});
addFunctionToUtcpDirectCall('order', async (name, number) => {
  if (number > 9) throw new Error('out of stock');
  return { item: name, count: number, total: name.length * number };
});

const client = await CodeModeUtcpClient.create();
await client.registerManual({ name: 'shop', call_template_type: 'direct-call', callable_name: 'shopManual' });
assert.deepEqual((await client.getTools()).map(({ name }) => name), ['shop.price', 'shop.order']);

let chains = 0;
function run(...args) {
  chains += 1;
  return client.callToolChain(...args);
}

// Tools look synchronous inside, and their results are plain values.
const { result, logs } = await run(`
  const prices = ['apple', 'fig'].map((item) => shop.price({ item }));
  console.log('prices', prices.map(({ price }) => price));
  const order = await shop.order({ item: 'fig', count: prices[0].price });
  console.warn('ordered', order.count);
  return { prices, order, typeof: typeof __getToolInterface('shop.order'), declared: __interfaces.includes('shop.price') };
`);
assert.deepEqual(result, {
  prices: [{ item: 'apple', price: 5 }, { item: 'fig', price: 3 }],
  order: { item: 'fig', count: 5, total: 15 },
  typeof: 'string',
  declared: true,
});
assert.deepEqual(logs, ['prices [\n  5,\n  3\n]', '[WARN] ordered 5']);

// A tool's error is thrown inside; an uncaught one ends the chain and is logged.
const caught = await run(`try { shop.order({ item: 'fig', count: 10 }); } catch (error) { return error.message; }`);
assert.match(caught.result, /out of stock/);
const lastLog = async (...args) => (await run(...args)).logs.at(-1);
assert.match(await lastLog('throw new RangeError("mine")'), /Code execution failed: RangeError: mine/);
assert.match(await lastLog('return process.version'), /process is not defined/);

// Limits: a loop, a promise that is never settled, memory (where the application disposes its isolate twice).
assert.match(await lastLog('for (;;) {}', 200), /Script execution timeout after 200ms/);
assert.match(await lastLog('await new Promise(() => {})', 200), /timeout after 200ms/);
await assert.rejects(run('const kept = []; for (;;) kept.push({ kept })', 3000, 16), /Isolate is already disposed/);

// Many at the same time.
const counts = Array.from({ length: 20 }, (_, n) => n % 9);
const many = await Promise.all(counts.map((n) => run(`return shop.order({ item: 'x', count: ${n} }).total`)));
assert.deepEqual(many.map(({ result: total }) => total), counts);

const { name } = createRequire(import.meta.url)('isolated-vm/package.json');
console.log(`${chains} tool chains with ${name}`);
