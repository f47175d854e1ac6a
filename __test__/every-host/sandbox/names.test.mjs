// What the sandboxes have in common has the same name in all of them, besides earlier names.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const { AgentSandbox, createSandbox, PluginSandbox, SubprocessSandbox } = ivm;
const hasProcesses = process.platform === 'linux';
const noTools = async () => {};
const FOREVER = 'await new Promise(() => {})';
const DISPOSED = { error: 'Sandbox has been disposed', result: null, code: 'ERR_ISOLATE_DISPOSED' };
const said = ({ error, result, failure }) => ({ error, result, code: failure?.code });

/** The sandboxes that return results: how they are made, and how they execute. */
const SANDBOXES = {
  createSandbox: [(options) => createSandbox({}, options), (sandbox, code) => sandbox.execute(code)],
  AgentSandbox: [(options) => new AgentSandbox(options), (sandbox, code) => sandbox.execute(code, [], noTools)],
  ...(hasProcesses ? { SubprocessSandbox: [(options) => new SubprocessSandbox(options), (sandbox, code) => sandbox.execute(code, [], noTools)] } : {}),
};

test('classes with two names', () => {
  assert.equal(ivm.IsolatedVMSandbox, AgentSandbox);
  assert.equal(ivm.IsolatedVmSandbox, PluginSandbox);
  assert.deepEqual([AgentSandbox.name, PluginSandbox.name], ['AgentSandbox', 'PluginSandbox']);
  assert.ok(ivm.createIsolatedVMSandbox() instanceof AgentSandbox);
});

for (const [kind, [make, execute]] of Object.entries(SANDBOXES)) {
  describe(kind, () => {
    test('durationMs', async () => {
      for (const code of ['return 1', 'throw new Error("x")']) {
        const outcome = await execute(make(), code);
        assert.ok(Number.isInteger(outcome.durationMs) && outcome.durationMs >= 0);
        if (kind !== 'createSandbox') assert.equal(outcome.duration, outcome.durationMs);
      }
    });

    test('dispose ends what runs; later executions work', async () => {
      const sandbox = make();
      const running = execute(sandbox, FOREVER);
      assert.equal(sandbox.dispose(), undefined);
      const outcome = await running;
      assert.deepEqual([outcome.result, outcome.failure.code], [null, 'ERR_ISOLATE_DISPOSED']);
      assert.equal((await execute(sandbox, 'return 1')).result, 1);
      await sandbox.close();
    });

    test('close ends what runs, waits for it, and is permanent', async () => {
      const sandbox = make();
      let isOver = false;
      const running = execute(sandbox, FOREVER).finally(() => { isOver = true; });
      const closed = sandbox.close();
      assert.ok(closed instanceof Promise);
      assert.equal(await closed, undefined);
      assert.equal(isOver, true);
      assert.deepEqual(said(await running), DISPOSED);
      assert.deepEqual(said(await execute(sandbox, 'return 1')), DISPOSED);
      sandbox.dispose();
      await sandbox.close();
      await sandbox[Symbol.asyncDispose]();
    });

    test('Symbol.dispose is permanent, too', async () => {
      const sandbox = make();
      sandbox[Symbol.dispose]();
      assert.deepEqual(said(await execute(sandbox, 'return 1')), DISPOSED);
    });
  });
}

describe('poolSize', () => {
  const makers = { ...Object.fromEntries(Object.entries(SANDBOXES).map(([kind, [make]]) => [kind, make])), PluginSandbox: (options) => new PluginSandbox(null, options) };
  for (const [kind, make] of Object.entries(makers)) {
    test(kind, () => {
      for (const poolSize of [0, 1, 64, 1000, undefined, null]) assert.ok(make({ poolSize }));
      for (const poolSize of [-1, NaN, '1', true]) assert.throws(() => make({ poolSize }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /`poolSize`/ });
      if (kind === 'SubprocessSandbox') {
        assert.throws(() => make({ warm: 1 }), { code: 'ERR_INVALID_ARG', message: /`warm`/ });
        return;
      }
      for (const warm of [0, 2, undefined, null]) assert.ok(make({ warm, poolSize: null }));
      assert.throws(() => make({ warm: -1 }), { code: 'ERR_INVALID_ARG', message: /`warm`/ });
      assert.throws(() => make({ warm: 1, poolSize: 1 }), { code: 'ERR_INVALID_ARG', message: '`warm` is another name of `poolSize`: set one of them' });
    });
  }
});

describe('PluginSandbox', () => {
  test('close ends all isolates, and no others are created', async () => {
    const sandbox = new PluginSandbox();
    const isolate = await sandbox.createIsolate({ id: 'p' });
    assert.equal(await sandbox.close(), undefined);
    assert.equal(sandbox.getActiveIsolateCount(), 0);
    await assert.rejects(sandbox.executeInSandbox(isolate, '1', {}), { name: 'NotFoundError' });
    await assert.rejects(sandbox.createIsolate({ id: 'p' }), { code: 'ERR_ISOLATE_DISPOSED', message: 'Sandbox has been disposed' });
    await sandbox.close();
  });

  test('disposeAll is not permanent', async () => {
    const sandbox = new PluginSandbox();
    await sandbox.createIsolate({ id: 'p' });
    sandbox.disposeAll();
    const isolate = await sandbox.createIsolate({ id: 'p' });
    assert.equal(await sandbox.executeInSandbox(isolate, '1', {}), 1);
    await sandbox.close();
  });

  test('can be constructed without arguments', () => {
    assert.equal(PluginSandbox.length, 0);
    assert.ok(Reflect.construct(PluginSandbox, []));
  });
});

describe('failure.code', () => {
  test('is one of the library\'s, whatever an error of the host has', async () => {
    const options = Object.defineProperty({}, 'signal', { enumerable: true, get() { throw Object.assign(new Error('mine'), { code: 'ENOENT' }); } });
    const { error, failure } = await createSandbox({}).execute('1', options);
    assert.deepEqual([error, failure.code], ['mine', undefined]);
  });
});
