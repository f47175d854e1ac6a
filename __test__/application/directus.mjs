// Scripts of flows, in the operation "Run Script" of Directus. scripts/product/application.mjs installs what this imports. All assertions also hold
// with isolated-vm itself.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import exec from './directus/dist/operations/exec/index.js';

const { name } = createRequire(import.meta.url)('isolated-vm/package.json');
const logged = [];
const logger = Object.fromEntries(['info', 'warn', 'error', 'trace', 'debug'].map((level) => [level, (value) => logged.push([level, value])]));

let count = 0;
function run(code, { data = {}, memory = 32, timeout = 10_000 } = {}) {
  count += 1;
  return exec.handler({ code }, { data, env: { FLOWS_RUN_SCRIPT_MAX_MEMORY: memory, FLOWS_RUN_SCRIPT_TIMEOUT: timeout }, logger });
}
const fails = (code, message, options) => assert.rejects(run(code, options), ({ message: found }) => found.includes(message));

// Results, also of async functions, and data that crosses.
const order = { items: [{ price: 2, count: 3 }, { price: 5, count: 1 }] };
assert.deepEqual(await run('module.exports = ({ items }) => ({ total: items.reduce((sum, { price, count }) => sum + price * count, 0) })', { data: order }), { total: 11 });
assert.deepEqual(await run('module.exports = async (data) => { await null; return data.items.map(({ count }) => count); }', { data: order }), [3, 1]);
assert.deepEqual(await run('module.exports = () => [process.env.KEY, typeof process.exit, typeof require, typeof global.Array]', { data: { $env: { KEY: 'x' } } }), ['x', 'undefined', 'undefined', 'function']);

// The console.
await run('console.log("a"); console.info("b", 1); console.warn({ c: [2] }); console.error(null); console.trace(1n); console.debug(); module.exports = () => ({})');
assert.deepEqual(logged, [['info', 'a'], ['info', ['b', 1]], ['warn', { c: [2] }], ['error', null], ['trace', 1n], ['debug', []]]);

// Mistakes.
await fails('const fs = require("node:fs");', 'require is not defined');
await fails('\nimport { readFileSync } from "node:fs";', 'Cannot use import statement outside a module [<isolated-vm>:2:1]');
await fails('\n~~\n ', 'Unexpected end of input [<isolated-vm>:3:2]');
await fails('module.exports = () => a + b;', 'a is not defined');
await fails('module.exports = false;', 'module.exports is not a function');
await fails('module.exports = () => { throw new Error("out of stock"); };', 'out of stock');
await fails('module.exports = async () => { throw new TypeError("later"); };', 'later');
await fails('module.exports = () => 1', '`memoryLimit` must be a number', { memory: 'much' });
await fails('module.exports = () => 1', '`timeout` must be a 32-bit number', { timeout: 'long' });

// Limits.
await fails('for (;;);', 'Script execution timed out.', { timeout: 200 });
await fails('module.exports = async () => { for (;;); };', 'Script execution timed out.', { timeout: 200 });
const hoarding = 'const all = []; for (;;) { const part = new Uint8Array(2 ** 21); for (let at = 0; at < part.length; at += 4_096) part[at] = 1; all.push(part); }';
await fails(hoarding, 'Array buffer allocation failed', { memory: 8 });
await fails('const all = []; for (;;) all.push(new Array(1_000).fill(1.5));', 'disposed during execution due to memory limit', { memory: 8 });

const sums = await Promise.all(Array.from({ length: 8 }, (_, index) => run('module.exports = ({ index }) => ({ twice: 2 * index })', { data: { index } })));
assert.deepEqual(sums, [0, 2, 4, 6, 8, 10, 12, 14].map((twice) => ({ twice })));
console.log(`${count} scripts with ${name}`);
