// The memory of an idle isolate, the memory that one touches until it ends, and that V8's tables for objects of many shapes work although they start without memory.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collectorArguments, run } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

/** Kilobytes. It is 1,480 if V8's tables are written to, and 1,130 otherwise. */
const MAX_IDLE_KB = 1_300;
/** Pages. It is 96 or more if V8 writes to all memory of its heap for C++ objects, and 67 otherwise. */
const MAX_TOUCHED = 80;

describe('an idle isolate', () => {
  test('uses little memory', async () => {
    const program = `
      const kept = [];
      const makeMore = (count) => {
        for (let i = 0; i < count; i += 1) {
          const isolate = new ivm.Isolate();
          kept.push([isolate, isolate.createContextSync()]);
        }
      };
      const settled = async () => {
        // Its threads may still hold memory.
        for (const end = performance.now() + 10_000; ivm.engineStats().idle < kept.length || ivm.engineStats().threads > 0;) {
          if (performance.now() > end) throw new Error(JSON.stringify(ivm.engineStats()));
          await new Promise((resolve) => { setTimeout(resolve, 5); });
        }
        (globalThis.gc ?? globalThis.Bun.gc)(true);
        return process.memoryUsage.rss();
      };
      makeMore(10);
      const before = await settled();
      makeMore(100);
      console.log(Math.round((await settled() - before) / 100 / 1024));
      process.exit(0);`;
    const { stdout, stderr, code } = await run(program, { hostArgs: collectorArguments(), timeout: 60_000 });
    assert.equal(code, 0, stderr);
    const kilobytes = Number(stdout);
    assert.ok(kilobytes > 500 && kilobytes < MAX_IDLE_KB, `${kilobytes} KB`);
  });
});

describe('an isolate that is disposed of', () => {
  test('has touched few pages of memory', async () => {
    const program = `
      const faults = () => process.resourceUsage().minorPageFault;
      const many = async () => {
        for (let i = 0; i < 20; i += 1) {
          const isolate = new ivm.Isolate({ warm: 0 });
          await (await isolate.createContext()).eval('1');
          isolate.dispose();
        }
      };
      await many();
      const counts = [];
      for (let round = 0; round < 10; round += 1) {
        const before = faults();
        await many();
        counts.push((faults() - before) / 20);
      }
      // The rest of the process also touches pages.
      console.log(Math.min(...counts));
      process.exit(0);`;
    const { stdout, stderr, code } = await run(program, { timeout: 60_000 });
    assert.equal(code, 0, stderr);
    const pages = Number(stdout);
    assert.ok(pages > 0 && pages < MAX_TOUCHED, `${pages} pages`);
  });
});

describe('objects of many shapes', () => {
  const GUEST = `
    const shapes = [];
    for (let k = 0; k < 400; k += 1) {
      const object = {};
      for (let j = 0; j <= k % 20; j += 1) object['p' + k + '_' + j] = j;
      object.x = k;
      shapes.push(object);
    }
    const load = () => shapes.reduce((sum, shape) => sum + shape.x, 0);
    const keyed = (key) => shapes.reduce((sum, shape) => sum + shape[key], 0);
    const store = (value) => shapes.forEach((shape) => { shape.y = value; });
    const collect = () => { globalThis.gc?.(); for (let i = 0; i < 100; i += 1) new Array(20_000).fill(i).reverse(); };
    const results = [];
    for (let round = 1; round <= 4; round += 1) {
      for (let time = 0; time < 10; time += 1) {
        store(round);
        results.push(load() === 79_800 && keyed('x') === 79_800 && keyed('y') === 400 * round);
      }
      collect();
    }
    results.length === 40 && results.every(Boolean)`;

  test('keep their properties across collections', () => passes(`
    // One after another, because they start with memory that others have used.
    for (let i = 0; i < 3; i += 1) {
      const other = new ivm.Isolate({ memoryLimit: 64 });
      assert.equal(other.createContextSync().evalSync(${JSON.stringify(GUEST)}), true);
      other.dispose();
    }
    assert.equal(context.evalSync(${JSON.stringify(GUEST)}), true);`, { collects: true }));
});
