// Options of the sandboxes are an object's own properties. Properties that a library of the host's has put on `Object.prototype` do not
// count.

import { before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { errorOf, hostContext, IsolatedVmSandbox, manifest } from '../../sandbox/plugin-helper.mjs';

const { createSandbox, IsolatedVMSandbox, SubprocessSandbox } = ivm;

/** All options, with values that are as wrong or as generous as possible. */
const POLLUTION = {
  timeout: 'x', memoryLimit: 'x', maxOutputSize: 0, maxApiCalls: 0, maxLogEntries: 0, maxLogLength: 'x', onLog: 'x', timers: 'x', web: true,
  typescript: 'x', modules: 'x', inspector: true, minimalEnv: false, poolSize: 'x', confinement: { seccomp: false }, signal: 'x', fresh: 'x',
  deadline: 'x', warm: 'x', snapshot: 'x', limits: 'x', permissions: { hooks: ['polluted'] }, hooks: ['polluted'], network: 'x', storage: { maxSize: 10 },
};

async function polluted(work) {
  for (const [key, value] of Object.entries(POLLUTION)) {
    Object.defineProperty(Object.prototype, key, { value, writable: true, configurable: true }); // oxlint-disable-line no-extend-native -- the case
  }
  try {
    return await work();
  } finally {
    for (const key of Object.keys(POLLUTION)) delete Object.prototype[key];
  }
}

const tools = [{ name: 'a:b', description: '' }];
const CODE = 'const one = 1; console.log("entry"); return [typeof URL, one]';

describe('a polluted Object.prototype', () => {
  // Node cannot load files with a `signal` there, so load those of the sandboxes first.
  before(async () => {
    await createSandbox({}).execute('[]');
    await new IsolatedVMSandbox().execute('return []', tools, async () => 1);
  });

  test('createSandbox', async () => {
    const outcome = await polluted(() => createSandbox({}, {}).execute(CODE, {}));
    assert.deepEqual([outcome.error, outcome.result, outcome.logs], [undefined, ['undefined', 1], ['entry']]);
  });

  test('with names of descriptors and strings', async () => {
    // With a `get` there, Bun cannot load its own modules, so load them first. Type stripping loads more.
    const api = { f: () => 1 };
    await createSandbox({ api }).execute('1');
    for (const [name, typescript] of [['get', false], ['set', false], ['name', true], ['failure', true]]) {
      Object.prototype[name] = 'x'; // oxlint-disable-line no-extend-native -- the case
      try {
        const { error, result } = await createSandbox({ api }, { typescript }).execute(`const one${typescript ? ': number' : ''} = api.f(); return one`);
        assert.deepEqual([name, error, result], [name, undefined, 1]);
      } finally {
        delete Object.prototype[name];
      }
    }
  });

  test('IsolatedVMSandbox', async () => {
    const outcome = await polluted(() => new IsolatedVMSandbox({}).execute(CODE, tools, async () => 1, {}));
    assert.deepEqual([outcome.error, outcome.result, outcome.logs], [undefined, ['undefined', 1], ['entry']]);
  });

  test('SubprocessSandbox', { skip: process.platform !== 'linux' }, async () => {
    const plain = await new SubprocessSandbox().confinement();
    const [layers, outcome] = await polluted(async () => {
      const sandbox = new SubprocessSandbox({});
      return [await sandbox.confinement(), await sandbox.execute(CODE, tools, async () => 1, {})];
    });
    assert.deepEqual(layers.map(({ name, active }) => [name, active]), plain.map(({ name, active }) => [name, active]));
    assert.deepEqual([outcome.error, outcome.result, outcome.logs], [undefined, ['undefined', 1], ['[log] "entry"']]);
    const [off] = await polluted(async () => (await new SubprocessSandbox({ confinement: {} }).confinement()).filter(({ name }) => name === 'seccomp'));
    assert.equal(off.active, plain.find(({ name }) => name === 'seccomp').active);
  });

  test('IsolatedVmSandbox', async () => {
    const { permissions, ...bare } = manifest();
    const sandbox = new IsolatedVmSandbox(undefined, {});
    const [isolate, value, error] = await polluted(async () => {
      const made = await sandbox.createIsolate(bare);
      const context = hostContext();
      return [made, await sandbox.executeInSandbox(made, 'globalThis.kept = 1; [typeof URL, typeof setTimeout]', context, {}),
        await errorOf(sandbox.executeInSandbox(made, 'context.eventBus.emit("polluted")', context, {}))];
    });
    assert.deepEqual([isolate.memoryLimit, isolate.cpuLimit, value], [128, 5_000, ['undefined', 'undefined']]);
    assert.match(error.message, /hook|event|permission/i);
    assert.equal(await sandbox.executeInSandbox(isolate, 'kept', hostContext()), 1);
    sandbox.disposeAll();
  });
});
