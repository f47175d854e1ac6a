// The limits of a plugin's execution apply to everything that it waits for before its code runs.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errorOf, IsolatedVmSandbox, manifest, NotFoundError, SandboxViolationError } from '../../sandbox/plugin-helper.mjs';
import { leftUntil, withinLimits } from '../../../surface/host/sandbox/common/waiting.js';
import { guard } from '../../../surface/host/calls/signals.js';
import { now } from '../../../surface/host/clock.js';

/** A plugin that is busy until `end` is called. */
async function busyPlugin(options, first = '') {
  const state = { isOver: false, begun: undefined };
  const begun = new Promise((resolve) => { state.begun = resolve; });
  const sandbox = new IsolatedVmSandbox(undefined, options);
  const isolate = await sandbox.createIsolate(manifest({ limits: { memoryMB: 64, cpuMs: 20_000 } }));
  const touched = [];
  const context = { begin: () => state.begun(), isOver: () => state.isOver, touch: () => { touched.push(true); } };
  const execute = (code, more) => sandbox.executeInSandbox(isolate, code, context, more);
  const busy = execute(`${first}; context.begin(); while (!context.isOver()); 'over'`);
  await begun;
  return { sandbox, isolate, execute, touched, busy, end() { state.isOver = true; return busy; }, isBusy: () => !state.isOver };
}

/** A signal that is aborted when the event loop has turned. */
function aborted(reason) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 20);
  return controller.signal;
}

describe('where code may be a module, while another execution keeps the plugin busy', () => {
  const options = { modules: { 'a.js': 'export default 5' } };

  test('its deadline ends it', async () => {
    const { sandbox, execute, end } = await busyPlugin(options);
    const error = await errorOf(execute('1', { deadline: 100 }));
    assert.ok(error instanceof SandboxViolationError, error.message);
    assert.deepEqual([error.kind, error.message], ['CPU', 'Plugin execution exceeded 100ms timeout']);
    assert.equal(await end(), 'over');
    assert.equal(await execute("import value from 'a.js'; export default value"), 5);
    sandbox.disposeAll();
  });

  test('its signal ends it', async () => {
    const { sandbox, execute, end } = await busyPlugin(options);
    const reason = new Error('mine');
    assert.equal(await errorOf(execute('1', { signal: aborted(reason) })), reason);
    assert.equal(await end(), 'over');
    sandbox.disposeAll();
  });
});

describe('while the memory of a busy plugin is checked, an execution', () => {
  const full = 'var kept = [new Uint8Array(50 * 2 ** 20), new Array(20 * 131072).fill(1.5)]';

  test('ends by its signal', async () => {
    const { sandbox, execute, end } = await busyPlugin({}, full);
    const reason = new Error('mine');
    assert.equal(await errorOf(execute('1', { signal: aborted(reason) })), reason);
    assert.equal(await end(), 'over');
    sandbox.disposeAll();
  });

  for (const fresh of [false, true]) {
    test(`does not begin after the plugin was disposed of${fresh ? ', not in a fresh isolate either' : ''}`, async () => {
      const { sandbox, isolate, execute, touched, busy } = await busyPlugin({}, full);
      const [late, ended] = [errorOf(execute('context.touch()', { fresh })), errorOf(busy)];
      sandbox.dispose(isolate);
      await sandbox.close();
      assert.ok(await late instanceof NotFoundError);
      assert.equal((await ended).cause?.code, 'ERR_ISOLATE_DISPOSED');
      assert.deepEqual(touched, []);
    });
  }
});

test('a plugin that does not stop is reported with the limit that it has exceeded', async () => {
  const endless = '[].indexOf.call({ length: 2 ** 53 - 1 }, 1)';
  for (const [limits, deadline, exceeded] of [[{ cpuMs: 20_000 }, 150, 150], [{ cpuMs: 100 }, 20_000, 100]]) {
    const sandbox = new IsolatedVmSandbox();
    const isolate = await sandbox.createIsolate(manifest({ limits }));
    const error = await errorOf(sandbox.executeInSandbox(isolate, endless, {}, { deadline }));
    assert.deepEqual([error.kind, error.message], ['CPU', `Plugin execution exceeded ${exceeded}ms timeout`]);
    // A limit on processor time may also end the isolate first.
    assert.ok(exceeded !== deadline || error.cause.code === 'ERR_ISOLATE_UNRESPONSIVE', error.cause.code);
    sandbox.disposeAll();
  }
});

describe('waiting within limits', () => {
  const never = new Promise(() => {});

  test('ends with the promise', async () => {
    const { signal } = new AbortController();
    assert.equal(await withinLimits(Promise.resolve(5), Infinity, undefined), 5);
    assert.equal(await withinLimits(Promise.resolve(6), now() + 60_000, guard(signal)), 6);
    await assert.rejects(withinLimits(Promise.reject(new Error('no')), now() + 60_000, guard(signal)), { message: 'no' });
  });

  test('ends with the deadline, or the signal', async () => {
    await assert.rejects(withinLimits(never, now() + 10, undefined), { code: 'ERR_ISOLATE_DEADLINE' });
    await assert.rejects(withinLimits(never, now() - 10, undefined), { code: 'ERR_ISOLATE_DEADLINE' });
    for (const signal of [aborted(7), AbortSignal.abort(7)]) {
      await assert.rejects(withinLimits(never, Infinity, guard(signal)), (reason) => reason === 7);
    }
  });

  test('leaves at least a millisecond', () => {
    assert.deepEqual([leftUntil(now() - 1_000), leftUntil(Infinity)], [1, Infinity]);
  });
});
