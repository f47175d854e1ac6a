// Messages on channels of `diagnostics_channel`: isolates and executions, with their usage.

import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';
import ivm, { createSandbox, Isolate, IsolatedVMSandbox, IsolatedVmSandbox, SubprocessSandbox } from '../../../index.mjs';

const NAMES = ['isolate:create', 'isolate:end', 'isolate:abandon', 'execution:start', 'execution:end'];

/** The messages while `work` runs, each with the last part of its channel's name. */
async function messagesOf(work, names = NAMES) {
  const seen = [];
  const listen = (message, name) => {
    assert.ok(Object.isFrozen(message));
    for (const value of Object.values(message)) assert.match(typeof value, /^(?:string|number|boolean)$/);
    seen.push({ channel: name.slice('isolated-v8:'.length), ...message });
  };
  for (const name of names) subscribe(`isolated-v8:${name}`, listen);
  try {
    await work();
  } finally {
    for (const name of names) unsubscribe(`isolated-v8:${name}`, listen);
  }
  return seen;
}

const EXECUTIONS = ['execution:start', 'execution:end'];
const only = (keys, messages) => messages.map((message) => Object.fromEntries(keys.map((key) => [key, message[key]])));

describe('executions', () => {
  test('start and end, with usage', async () => {
    const sandbox = createSandbox({ twice: async (n) => 2 * n }, { timeout: 9_000, memoryLimit: 16 });
    const [start, end, ...more] = await messagesOf(() => sandbox.execute('console.log(1); return twice(twice(1))'), EXECUTIONS);
    assert.deepEqual(more, []);
    const { channel: _, ...facts } = start;
    assert.deepEqual(facts, { execution: start.execution, threadId: start.threadId, sandbox: 'createSandbox', timeout: 9_000, memoryLimit: 16, codeLength: 38 });
    const { cpuMs, wallMs, heapPeak, durationMs, ...rest } = end;
    assert.deepEqual(rest, { ...facts, channel: 'execution:end', ok: true, hostCalls: 2, logs: 1 });
    assert.ok(cpuMs > 0 && wallMs > 0 && heapPeak > 0 && durationMs > 0);
  });

  test('failures', async () => {
    const sandbox = createSandbox({}, { memoryLimit: 16 });
    const messages = await messagesOf(async () => {
      await sandbox.execute(`throw Object.assign(new RangeError('x'.repeat(5000)), { code: {}, cause: { a: 1 } })`);
      await createSandbox({}, { timeout: 100 }).execute('for (;;);');
      await sandbox.execute('const all = []; for (;;) all.push(new Array(1000).fill(1.5));');
      await sandbox.execute(1);
    }, ['execution:end']);
    const [thrown, ...limits] = only(['ok', 'errorName', 'errorMessage', 'errorCode'], messages);
    assert.deepEqual(thrown, { ok: false, errorName: 'RangeError', errorMessage: 'x'.repeat(1_000), errorCode: undefined });
    assert.deepEqual(limits.map(({ ok, errorCode }) => [ok, errorCode]), [
      [false, 'ERR_ISOLATE_DEADLINE'], [false, 'ERR_ISOLATE_MEMORY'], [false, 'ERR_INVALID_ARG'],
    ]);
  });

  test('an agent, a plugin and a process', async () => {
    const agent = new IsolatedVMSandbox();
    const plugins = new IsolatedVmSandbox();
    const messages = await messagesOf(async () => {
      await agent.execute('return a.b()', [{ name: 'a:b', description: '' }], async () => 1);
      await assert.rejects(agent.execute('1', [], 1), { code: 'ERR_INVALID_ARG' });
      const isolate = await plugins.createIsolate({ id: 'one' });
      await plugins.executeInSandbox(isolate, '1', {});
      await assert.rejects(plugins.executeInSandbox(isolate, 'throw new TypeError("no")', {}, { fresh: true }));
      plugins.disposeAll();
      await new SubprocessSandbox().execute('return 1', [], async () => 1);
    }, ['execution:end']);
    assert.deepEqual(only(['sandbox', 'ok', 'pluginId', 'hostCalls', 'errorName'], messages), [
      { sandbox: 'AgentSandbox', ok: true, pluginId: undefined, hostCalls: 1, errorName: undefined },
      { sandbox: 'AgentSandbox', ok: false, pluginId: undefined, hostCalls: undefined, errorName: 'TypeError' },
      { sandbox: 'PluginSandbox', ok: true, pluginId: 'one', hostCalls: 0, errorName: undefined },
      { sandbox: 'PluginSandbox', ok: false, pluginId: 'one', hostCalls: 0, errorName: 'TypeError' },
      { sandbox: 'SubprocessSandbox', ok: true, pluginId: undefined, hostCalls: 0, errorName: undefined },
    ]);
  });

  test('the start is published where the program calls', async () => {
    const storage = new AsyncLocalStorage();
    const stores = [];
    const listen = () => stores.push(storage.getStore());
    subscribe('isolated-v8:execution:start', listen);
    await storage.run('caller', () => createSandbox({}).execute('1'));
    unsubscribe('isolated-v8:execution:start', listen);
    assert.deepEqual(stores, ['caller']);
  });
});

describe('isolates', () => {
  const KEYS = ['channel', 'owner', 'reason'];

  test('of a program', async () => {
    const messages = await messagesOf(() => {
      for (const end of ['dispose', Symbol.dispose]) {
        const isolate = new Isolate({ memoryLimit: 16 });
        isolate[end]();
        assert.throws(() => isolate.dispose(), { code: 'ERR_ISOLATE_DISPOSED' });
      }
    });
    assert.deepEqual(only(KEYS, messages), Array.from({ length: 2 }, () => [
      { channel: 'isolate:create', owner: 'program', reason: undefined }, { channel: 'isolate:end', owner: 'program', reason: 'disposed' },
    ]).flat());
    assert.equal(messages[0].isolate, messages[1].isolate);
    assert.notEqual(messages[0].isolate, messages[2].isolate);
    assert.equal(messages[0].memoryLimit, 16);
  });

  const full = 'const all = []; for (;;) all.push(new Array(1000).fill(1.5));';
  for (const [how, use] of [['async', (context) => context.eval(full)], ['sync', async (context) => context.evalSync(full)]]) {
    test(`out of memory, ${how}`, async () => {
      const other = new Isolate({ memoryLimit: 8 });
      const messages = await messagesOf(async () => {
        const isolate = new Isolate({ memoryLimit: 16 });
        const context = isolate.createContextSync();
        await assert.rejects(use(context), { code: 'ERR_ISOLATE_MEMORY' });
        await assert.rejects(context.eval('1'));
        assert.equal(isolate.isDisposed, true);
      });
      assert.deepEqual(only(KEYS, messages), [
        { channel: 'isolate:create', owner: 'program', reason: undefined }, { channel: 'isolate:end', owner: 'program', reason: 'memory' },
      ]);
      other.dispose();
    });
  }

  test('of executions and plugins', async () => {
    const plugins = new IsolatedVmSandbox();
    const sandbox = createSandbox({}, { memoryLimit: 16 });
    const messages = await messagesOf(async () => {
      await sandbox.execute('1');
      await sandbox.execute(full);
      const isolate = await plugins.createIsolate({ id: 'one', limits: { memoryMB: 16 } });
      await plugins.executeInSandbox(isolate, '1', {}, { fresh: true });
      await assert.rejects(plugins.executeInSandbox(isolate, full, {}));
    }, ['isolate:end']);
    assert.deepEqual(messages.map(({ owner, reason }) => `${owner} ${reason}`), [
      'execution disposed', 'execution memory', 'plugin disposed', 'plugin memory',
    ]);
  });

  test('by something else', async () => {
    const isolate = new Isolate();
    const messages = await messagesOf(async () => {
      const watched = new Isolate({ memoryLimit: 16 });
      const context = isolate.createContextSync();
      // The guest disposes of it.
      await context.evalClosure('$0.dispose()', [watched]);
      await assert.rejects(watched.createContext(), { code: 'ERR_ISOLATE_DISPOSED' });
      await assert.rejects(watched.createContext(), { code: 'ERR_ISOLATE_DISPOSED' });
      await new Promise((resolve) => { setTimeout(resolve, 1_100); });
      assert.equal(watched.isDisposed, true);
    });
    isolate.dispose();
    assert.deepEqual(only(KEYS, messages), [
      { channel: 'isolate:create', owner: 'program', reason: undefined }, { channel: 'isolate:end', owner: 'program', reason: 'disposed' },
    ]);
  });

  test('abandoned', async () => {
    const { code, stdout, stderr } = await run(`
      import assert from 'node:assert/strict';
      import { subscribe } from 'node:diagnostics_channel';
      const alive = setInterval(() => {}, 1000);
      const heard = [];
      for (const name of ['create', 'abandon', 'end']) subscribe('isolated-v8:isolate:' + name, ({ reason, message }) => {
        heard.push([name, reason ?? message]);
        if (name === 'end') {
          console.log(JSON.stringify(heard));
          assert.equal(isolate.isDisposed, true);
          clearInterval(alive);
        }
      });
      const isolate = new ivm.Isolate();
      const context = isolate.createContextSync();
      ivm.configureEngine({ terminationGrace: 50 });
      await context.eval('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', { timeout: 20 }).catch(() => {});
    `);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, stdout);
    const [create, [abandon, message], end, ...more] = JSON.parse(stdout);
    assert.deepEqual([create, abandon, end, more], [['create', null], 'abandon', ['end', 'abandoned'], []]);
    assert.match(message, /\S/);
  });
});

describe('subscribers', () => {
  test('without any, nothing is counted', async () => {
    for (const name of NAMES) assert.equal(channel(`isolated-v8:${name}`).hasSubscribers, false);
    const sandbox = createSandbox({});
    const numbers = () => messagesOf(() => sandbox.execute('1'), ['execution:start']);
    const [{ execution: before }] = await numbers();
    await sandbox.execute('1');
    const [{ execution: after }] = await numbers();
    assert.equal(after - before, 1);
  });

  test('one that throws does not hurt the call', async () => {
    const { code, stdout, stderr } = await run(`
      import { subscribe } from 'node:diagnostics_channel';
      const caught = [];
      process.on('uncaughtException', (error) => caught.push(error.message));
      for (const name of ${JSON.stringify(NAMES)}) subscribe('isolated-v8:' + name, () => { throw new Error(name); });
      const { result } = await ivm.createSandbox({ f: async () => 42 }).execute('return f()');
      const isolate = new ivm.Isolate();
      const sum = isolate.createContextSync().evalSync('1 + 1');
      isolate.dispose();
      await new Promise((resolve) => setTimeout(resolve, 20));
      console.log(JSON.stringify({ result, sum, isDisposed: isolate.isDisposed, caught: caught.toSorted() }));
    `);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, stdout);
    const caught = ['execution:end', 'execution:start', 'isolate:create', 'isolate:create', 'isolate:end', 'isolate:end'];
    assert.deepEqual(JSON.parse(stdout), { result: 42, sum: 2, isDisposed: true, caught });
  });

  test('one that calls the library back', async () => {
    const isolates = [];
    const listen = () => { isolates.push(new Isolate({ memoryLimit: 8 })); };
    subscribe('isolated-v8:execution:start', listen);
    const { result } = await createSandbox({}).execute('return 1');
    unsubscribe('isolated-v8:execution:start', listen);
    assert.equal(result, 1);
    for (const isolate of isolates) isolate.dispose();
    assert.equal(isolates.length, 1);
    assert.equal(typeof ivm.engineStats().made, 'number');
  });
});
