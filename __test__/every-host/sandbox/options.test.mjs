// Unknown options are refused by name, by each sandbox and each execution.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { errorOf } from '../../sandbox/plugin-helper.mjs';

const { createIsolatedVMSandbox, createSandbox, createSubprocessSandbox, IsolatedVMSandbox, IsolatedVmSandbox, SubprocessSandbox } = ivm;
const COMMON = '`maxOutputSize`, `maxApiCalls`, `maxLogEntries`, `maxLogLength`, `onLog`, `poolSize`, `web`, `wasm`, `typescript`, `modules`, `snapshot`';
const noTools = async () => {};
const hasProcesses = process.platform !== 'win32';

const refused = (name, names) => ({ name: 'TypeError', code: 'ERR_INVALID_ARG', message: `Unknown option \`${name}\`. The options are ${names}` });

describe('unknown options', () => {
  const makers = {
    createSandbox: [(options) => createSandbox({}, options), '`timeout`, `memoryLimit`, `timers`, `inspector`, `warm`'],
    IsolatedVMSandbox: [(options) => new IsolatedVMSandbox(options), '`timeout`, `memoryLimit`, `form`, `inspector`, `warm`, `approve`, `results`'],
    createIsolatedVMSandbox: [(options) => createIsolatedVMSandbox(options), '`timeout`, `memoryLimit`, `form`, `inspector`, `warm`, `approve`, `results`'],
    IsolatedVmSandbox: [(options) => new IsolatedVmSandbox(null, options), '`timers`, `warm`'],
    ...(hasProcesses ? {
      SubprocessSandbox: [(options) => new SubprocessSandbox(options), '`timeout`, `memoryLimit`, `minimalEnv`, `confinement`, `approve`, `results`'],
      createSubprocessSandbox: [(options) => createSubprocessSandbox(options), '`timeout`, `memoryLimit`, `minimalEnv`, `confinement`, `approve`, `results`'],
    } : {}),
  };
  for (const [name, [make, own]] of Object.entries(makers)) {
    test(name, () => {
      for (const [option, value] of [['timeOut', 100], ['memory', 8], ['', 1], ['__proto__x', {}]]) {
        assert.throws(() => make({ [option]: value }), refused(option, `${own}, ${COMMON}`));
      }
      // An undefined option requests nothing, and inherited options do not count.
      assert.ok(make({ timeOut: undefined, signal: null }));
      assert.ok(make(Object.create({ timeOut: 1 })));
      assert.ok(make({ [Symbol('timeOut')]: 1 }));
      assert.throws(() => make({ ['x'.repeat(5_000)]: 1 }), refused('x'.repeat(100), `${own}, ${COMMON}`));
    });
  }

  test('of executions', async () => {
    const options = { timeout: 5 };
    const { message } = refused('timeout', '`signal`');
    const { error, failure } = await createSandbox({}).execute('1', options);
    assert.deepEqual([error, failure.code], [message, 'ERR_INVALID_ARG']);
    await assert.rejects(new IsolatedVMSandbox().execute('1', [], noTools, options), refused('timeout', '`signal`'));
    if (hasProcesses) await assert.rejects(new SubprocessSandbox().execute('1', [], noTools, options), refused('timeout', '`signal`'));
    const plugins = new IsolatedVmSandbox();
    const isolate = await plugins.createIsolate({ id: 'p' });
    const failed = await errorOf(plugins.executeInSandbox(isolate, '1', {}, options));
    assert.deepEqual([failed.code, failed.message], ['ERR_INVALID_ARG', refused('timeout', '`fresh`, `deadline`, `onUsage`, `signal`').message]);
    assert.equal(await plugins.executeInSandbox(isolate, '1', {}, { fresh: false, deadline: 20_000, onUsage() {}, signal: new AbortController().signal }), 1);
    plugins.disposeAll();
  });

  test('a manifest can have unknown fields', async () => {
    const plugins = new IsolatedVmSandbox();
    const isolate = await plugins.createIsolate({ id: 'p', homepage: 'x', permissions: { camera: true }, limits: { memoryMB: 16 } });
    assert.equal(isolate.memoryLimit, 16);
    plugins.disposeAll();
  });

  test('a manifest cannot have unknown limits', async () => {
    const plugins = new IsolatedVmSandbox();
    for (const name of ['cpuMS', 'memoryMb', 'requests']) {
      await assert.rejects(plugins.createIsolate({ id: 'p', limits: { [name]: 16 } }), refused(name, '`memoryMB`, `cpuMs`'));
    }
    plugins.disposeAll();
  });
});
