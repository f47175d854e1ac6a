// What `getMemoryUsage` counts, and what the sandbox does when a plugin uses much.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errorOf, manifest, plugin, SandboxViolationError, until } from '../../sandbox/plugin-helper.mjs';

const MEGABYTE = 2 ** 20;
const small = (memoryMB) => ({ manifest: manifest({ limits: { memoryMB } }) });

describe('getMemoryUsage counts', () => {
  for (const [what, code, least] of [
    ['the heap', 'var kept = new Array(20 * 131072).fill(1.5); 0', 20],
    ['buffers', 'var kept = new Uint8Array(20 * 2 ** 20).fill(1); 0', 20],
    ['memory of WebAssembly', 'var kept = new WebAssembly.Memory({ initial: 320 }); 0', 20],
    ['resizable buffers', 'var kept = new ArrayBuffer(2 ** 20, { maxByteLength: 20 * 2 ** 20 }); kept.resize(20 * 2 ** 20); 0', 20],
  ]) {
    test(what, async () => {
      const { sandbox, isolate, execute } = await plugin();
      const before = sandbox.getMemoryUsage(isolate);
      assert.ok(before > 100_000 && before < 16 * MEGABYTE, `${before}`);
      await execute(code);
      const after = sandbox.getMemoryUsage(isolate);
      assert.ok(after - before > (least - 0.5) * MEGABYTE && after - before < (2 * least + 20) * MEGABYTE, `${before} ${after}`);
      sandbox.disposeAll();
    });
  }

  test('what is in use while the plugin runs', async () => {
    const seen = [];
    const look = () => { seen.push(sandbox.getMemoryUsage(isolate)); };
    const { sandbox, isolate, execute } = await plugin({ context: { look } });
    await execute('context.look(); const buffer = new Uint8Array(30 * 2 ** 20); context.look(); const list = new Array(30 * 131072).fill(1.5); context.look(); buffer.length + list.length');
    const [first, second, third] = seen;
    assert.ok(second - first > 29 * MEGABYTE, seen.join());
    assert.ok(third - second > 29 * MEGABYTE, seen.join());
    sandbox.disposeAll();
  });

  test('what events and promises have left since the last execution', async () => {
    const { sandbox, isolate, execute, context } = await plugin();
    await execute("var kept; context.eventBus.on('item.indexed', () => { kept = [new Uint8Array(20 * 2 ** 20), new Array(20 * 131072).fill(1.5)]; }); 0");
    const before = sandbox.getMemoryUsage(isolate);
    context.eventBus.emit('item.indexed', 1);
    await until(() => sandbox.getMemoryUsage(isolate) - before > 38 * MEGABYTE);
    sandbox.disposeAll();
  });

  test('nothing of an isolate that has ended', async () => {
    const { sandbox, isolate, execute } = await plugin(small(16));
    await errorOf(execute('var kept = []; for (;;) kept.push(new Array(1000).fill(1.5))'));
    assert.equal(sandbox.getMemoryUsage(isolate), 0);
    sandbox.disposeAll();
  });
});

describe('a plugin that uses much', () => {
  test('buffers are warned about, too', async () => {
    const { sandbox, execute, logger } = await plugin(small(64));
    await execute('var kept = new Uint8Array(60 * 2 ** 20); 0');
    const [[, , { usage, limit }]] = logger.of('warn', 'Memory usage high');
    assert.equal(limit, 64);
    assert.ok(usage > 60 && usage < 100, `${usage}`);
    sandbox.disposeAll();
  });

  test('is refused further executions if it uses its limit in all', async () => {
    const { sandbox, isolate, execute } = await plugin(small(64));
    await execute('var kept = [new Uint8Array(50 * 2 ** 20), new Array(20 * 131072).fill(1.5)]; 0');
    const error = await errorOf(execute('1'));
    assert.ok(error instanceof SandboxViolationError);
    assert.deepEqual([error.kind, error.code], ['MEMORY', 'ERR_ISOLATE_MEMORY']);
    assert.match(error.message, /^Memory limit exceeded: [\d.]+MB >= 64MB$/);
    assert.equal(sandbox.getActiveIsolateCount(), 1);
    sandbox.updateMemoryUsage(isolate.id, 1);
    assert.equal(await execute('kept = undefined; 1'), 1);
    assert.equal(await execute('2'), 2);
    sandbox.disposeAll();
  });

  test('violates its limit also after it has waited for its host', async () => {
    const { sandbox, execute } = await plugin({ ...small(16), context: { later: async () => 5 } });
    const error = await errorOf(execute('(async () => { await context.later(); const kept = []; for (;;) kept.push(new Array(1000).fill(1.5)); })()'));
    assert.ok(error instanceof SandboxViolationError, error.message);
    assert.deepEqual([error.kind, error.code, error.message], ['MEMORY', 'ERR_ISOLATE_MEMORY', 'Plugin exceeded 16MB memory limit']);
    sandbox.disposeAll();
  });

  test('is not, if it is garbage', async () => {
    const { sandbox, execute } = await plugin(small(64));
    for (let round = 0; round < 5; round += 1) {
      assert.equal(await execute('new Uint8Array(50 * 2 ** 20).length + new Array(20 * 131072).fill(1.5).length'), 50 * MEGABYTE + 20 * 131072);
    }
    sandbox.disposeAll();
  });

  test('is not, for what small plugins use of V8\'s memory', async () => {
    const { sandbox, execute } = await plugin(small(8));
    for (let round = 0; round < 3; round += 1) {
      assert.equal(typeof await execute("new Intl.DateTimeFormat('de', { dateStyle: 'full' }).format(0) + new Intl.NumberFormat('ja').format(5) + 'a'.localeCompare('b')"), 'string');
      assert.equal(await execute("JSON.parse(JSON.stringify({ a: [1, 2, 3] })).a.length + /(a+)+b/.exec('aab').length"), 5);
    }
    sandbox.disposeAll();
  });
});
