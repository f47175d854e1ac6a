// Every sandbox does its basic work on this host. The `sandbox/` folders of the other places have the details.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ivm from '../../index.mjs';
import { errorOf, plugin } from '../sandbox/plugin-helper.mjs';

const LIMITS = { timeout: 20_000, memoryLimit: 32 };
const tools = [{ name: 'math:double', description: 'Twice a number' }];
const executor = async (name, { number }) => {
  if (name !== 'math:double') throw new Error(`unexpected tool ${name}`);
  if (typeof number !== 'number') throw new TypeError('that is no number');
  return 2 * number;
};

test('createSandbox: functions of the host, console, errors and limits', async () => {
  const sandbox = ivm.createSandbox({ later: async (number) => number + 1 }, LIMITS);
  const { result, logs, error } = await sandbox.execute('const sum = later(1) + later(2); console.log("said"); return sum');
  assert.deepEqual([result, logs.length, error], [5, 1, undefined]);
  assert.match((await sandbox.execute('throw new Error("of the guest")')).error, /of the guest/);
  const brief = ivm.createSandbox({}, { ...LIMITS, timeout: 100 });
  assert.equal((await brief.execute('for (;;);')).error, 'Execution timed out after 100ms');
});

for (const [name, sandbox] of [['IsolatedVMSandbox', new ivm.IsolatedVMSandbox(LIMITS)], ['SubprocessSandbox', new ivm.SubprocessSandbox(LIMITS)]]) {
  test(`${name}: tools, logs, errors and limits`, async () => {
    const code = 'console.log("said"); const all = await Promise.all([1, 2].map((number) => math.double({ number }))); return all';
    const { result, logs, error } = await sandbox.execute(code, tools, executor);
    assert.deepEqual([result, logs.length, error], [[2, 4], 1, undefined]);
    assert.match((await sandbox.execute('await math.double({})', tools, executor)).error, /that is no number/);
    assert.match((await sandbox.execute('return process.env', [], executor)).error, /process/);
    const { failure } = await sandbox.execute('const all = []; for (;;) all.push(new Array(1000).fill(1.5))', [], executor);
    assert.equal(failure.code, 'ERR_ISOLATE_MEMORY');
    assert.equal((await sandbox.execute('return 1', [], executor)).result, 1);
  });
}

test('IsolatedVmSandbox: a plugin and its context', async () => {
  const { sandbox, context, execute } = await plugin();
  assert.equal(await execute('context.logger.info("said"); var count = 1; 6 * 7'), 42);
  assert.equal(await execute('count += 1'), 2);
  assert.ok(context.calls.some(([name]) => name === 'logger.info'));
  assert.ok(await errorOf(execute('throw new Error("of the plugin")')) instanceof ivm.PluginError);
  sandbox.disposeAll();
  assert.equal(sandbox.getActiveIsolateCount(), 0);
});
