// Calls of a plugin that its host has not finished: their arguments stay in the host's memory.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { passes } from '../../isolate/helper.mjs';
import { gate, hostContext, manifest, plugin } from '../../sandbox/plugin-helper.mjs';

const { Gate } = createRequire(import.meta.url)('../../../surface/host/sandbox/plugin/context/gate.js');
const tooMany = /^RangeError: Too many calls are waiting for an answer$/;

async function slow(t) {
  const { promise, open } = gate();
  let calls = 0;
  const wait = async () => { calls += 1; await promise; return 1; };
  const context = hostContext({ wait, web: { post: wait }, cache: { get: wait, set: wait }, metrics: { take: wait } });
  context.eventBus.emitAsync = wait;
  const made = manifest({ limits: { memoryMB: 16 }, permissions: { network: { allowedDomains: ['example.org'] }, storage: { maxSize: 1e10 }, hooks: ['item.indexed'] } });
  const found = await plugin({ context, manifest: made });
  t.after(() => {
    open();
    found.sandbox.disposeAll();
  });
  return { open, count: () => calls, ...found };
}

/** Makes calls without waiting until one is refused. Resolves to their number and the error. */
const flood = (call, argument, most) => `(() => {
  const argument = ${argument};
  let number = 0;
  let error;
  try { for (; number < ${most}; number += 1) { const promise = ${call}; promise?.catch?.(() => {}); } } catch (thrown) { error = String(thrown); }
  return [number, error];
})()`;

describe('arguments of calls that are not finished', () => {
  for (const call of [
    'context.wait(argument)', 'context.web.post("https://example.org/", { body: argument })', 'context.cache.set("k" + number, argument)', 'context.metrics.take([argument])', 'context.eventBus.emitAsync("item.indexed", argument)',
  ]) {
    test(`are bounded: ${call}`, async (t) => {
      const { execute, open, count } = await slow(t);
      const [number, error] = await execute(flood(call, '"x".repeat(2e6)', 200));
      assert.match(error, tooMany);
      assert.ok(number > 10 && number <= 40, `${number} calls`);
      assert.equal(count(), number);
      open();
      assert.equal(await execute('context.wait("x".repeat(2e6))'), 1);
    });
  }

  test('functions that calls return keep no more: the oldest are dropped', async () => {
    const context = hostContext({ prepare: (text) => () => text.length });
    const { sandbox, execute } = await plugin({ context, manifest: manifest({ limits: { memoryMB: 16 } }) });
    const sizes = 'all.map((each) => { try { return each(); } catch ({ message }) { return message; } })';
    const found = await execute(`var all = Array.from({ length: 50 }, () => context.prepare('x'.repeat(2e6))); ${sizes}`);
    const dropped = found.lastIndexOf('There is no such method') + 1;
    // 64 MB are 33 of them.
    assert.ok(dropped >= 17 && dropped < 40, `${dropped} dropped`);
    assert.deepEqual(found, [...Array(dropped).fill('There is no such method'), ...Array(50 - dropped).fill(2e6)]);
    // Together with those of another execution.
    assert.equal(await execute(`all.push(...Array.from({ length: 50 }, () => context.prepare('x'.repeat(2e6)))); ${sizes}.filter((size) => size === 2e6).length`), 50 - dropped);
    assert.equal(await execute(`all = Array.from({ length: 900 }, () => context.prepare('x')); ${sizes}.filter((size) => size === 1).length`), 900);
    sandbox.disposeAll();
  });

  test('small ones count when functions are kept', async () => {
    const context = hostContext({ prepare: () => () => 1 });
    const { sandbox, execute } = await plugin({ context, manifest: manifest({ limits: { memoryMB: 16 } }) });
    await execute('var all = []; 0');
    for (let execution = 0; execution < 5; execution += 1) await execute("for (let index = 0; index < 1000; index += 1) all.push(context.prepare('x')); 0");
    // 64 MB are 4,096 times 16 KB.
    assert.equal(await execute('all.filter((each) => { try { return each(); } catch { return false; } }).length'), 4_096);
    sandbox.disposeAll();
  });

  test('functions beyond the last thousand of a context are not kept in the host', () => passes(`
    const made = [];
    const sandbox = new ivm.PluginSandbox();
    const plugin = await sandbox.createIsolate({ id: 'p', limits: { memoryMB: 16 } });
    const prepare = () => { const end = () => 1; made.push(new WeakRef(end)); return end; };
    await sandbox.executeInSandbox(plugin, 'for (let index = 0; index < 3000; index += 1) context.prepare(index); 0', { prepare });
    const alive = () => { gc(); return made.filter((each) => each.deref() !== undefined).length; };
    await waitFor(() => alive() < 1_500);
    assert.ok(alive() >= 1_000);
    sandbox.disposeAll();
  `, { collects: true }));

  test('small ones are bounded by the number of calls only', async (t) => {
    const { execute } = await slow(t);
    const [number, error] = await execute(flood('context.wait(argument)', '{ a: 1 }', 3_000));
    assert.deepEqual([number, error], [3_000, undefined]);
  });

  test('the number is also that of calls for whose promises the plugin cannot wait', async (t) => {
    const { execute, open, count } = await slow(t);
    const code = 'let refused = 0; for (let number = 0; number < 12_000; number += 1) try { context.wait(number).catch(() => {}); } catch (error) { refused += 1; } refused';
    assert.ok(await execute(code) >= 2_000);
    assert.equal(count(), 10_000);
    open();
    assert.equal(await execute('context.wait(1)'), 1);
  });

  test('objects count as what they take, and calls that fail or end at once do not count', async (t) => {
    const { execute } = await slow(t);
    const [number, error] = await execute(flood('context.metrics.take(argument)', 'Array.from({ length: 50_000 }, () => ({}))', 100));
    assert.match(error, tooMany);
    assert.ok(number > 5 && number <= 16, `${number} calls`);
    const context = hostContext({ now: (text) => text.length, fail: async () => { throw new Error('no'); } });
    const other = await plugin({ context, manifest: manifest({ limits: { memoryMB: 16 } }) });
    assert.equal(await other.execute('let sum = 0; for (let index = 0; index < 100; index += 1) sum += context.now("x".repeat(2e6)); sum'), 2e8);
    assert.equal(await other.execute('(async () => { for (let index = 0; index < 60; index += 1) await context.fail("x".repeat(2e6)).catch(() => {}); return 1; })()'), 1);
    other.sandbox.disposeAll();
  });
});

describe('results that a plugin does not request', () => {
  test('are not kept', async () => {
    const during = (run) => run();
    const made = new Gate({ now: (value) => Promise.resolve(value) }, { plugin: { domains: [] } }, {}, {}, { isSpent: false, during }, { check() {}, take() {} }, (_, begin) => {
      const task = begin({ spend() {}, isSliceOver: false });
      task.run(false);
      return task;
    });
    const call = (value) => made.call(0, [value], { count() {}, during })[1];
    const [first, second] = [call('first'), call('second')];
    await assert.rejects(made.promised(first), /There is no such promise/);
    const third = call('third');
    assert.equal(await made.promised(third), 'third');
    for (const id of [second, third, undefined]) await assert.rejects(made.promised(id), /There is no such promise/);
  });

  test('a plugin whose stack is full does not request them', async (t) => {
    let calls = 0;
    const { sandbox, execute } = await plugin({ context: hostContext({ now: async () => { calls += 1; return calls; } }) });
    t.after(() => sandbox.disposeAll());
    const [results, thrown] = await execute(`(async () => {
      const all = [];
      let thrown = 0;
      const call = () => { try { all.push(context.now()); } catch { thrown += 1; } };
      const fill = (...rest) => { try { fill(...rest); } catch {} if (all.length % 3 !== 0) call(); };
      for (let round = 0; round < 10; round += 1) { call(); fill(); fill(round); }
      return [await Promise.all(all), thrown];
    })()`);
    assert.ok(thrown > 0);
    assert.deepEqual([...new Set(results)], results);
    assert.ok(results.length <= calls);
  });
});
