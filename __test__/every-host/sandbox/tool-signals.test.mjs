// The signal of a tool's call aborts if the execution ends before the call has settled.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { once, EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../harness.mjs';
import { until } from '../../sandbox/plugin-helper.mjs';
import { gate, onceCalled, resultOf, SANDBOXES, tool } from '../../sandbox/tool-helper.mjs';

const forever = new Promise(() => {});
const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Executes code whose call of `t.f` does not settle; resolves to the outcome and the call's signal. */
async function ended(Sandbox, { config = {}, code = 'await t.f()', end = () => {} } = {}) {
  let signal;
  const { controller, execution, sandbox } = await onceCalled((timeout) => {
    const made = new Sandbox(config.timeout === undefined ? config : { ...config, timeout });
    const called = gate();
    const aborts = new AbortController();
    const executor = (name, _params, context) => {
      if (name === 't:g') return 1;
      ({ signal } = context);
      called.open();
      return forever;
    };
    return { sandbox: made, called: called.promise, controller: aborts, execution: made.execute(code, [tool('t:f'), tool('t:g')], executor, { signal: aborts.signal }) };
  });
  assert.equal(signal.aborted, false);
  await end({ sandbox, controller });
  return { outcome: await execution, signal };
}

for (const [kind, Sandbox] of Object.entries(SANDBOXES)) {
  describe(`${kind}: the signal of a call aborts`, () => {
    const reason = new Error('mine');
    const WAYS = {
      'at the timeout': [{ config: { timeout: true } }, 'ERR_ISOLATE_DEADLINE'],
      'when the execution is aborted': [{ end: ({ controller }) => controller.abort(reason) }, reason],
      'when the sandbox ends its executions': [{ end: ({ sandbox }) => sandbox.dispose() }, 'ERR_ISOLATE_DISPOSED'],
      'when the sandbox is closed': [{ end: ({ sandbox }) => sandbox.close() }, 'ERR_ISOLATE_DISPOSED'],
      'when the code ends without waiting': [{ code: 't.f(); await t.g(); return 1' }, 'ERR_ISOLATE_ABORTED'],
      'when the code throws': [{ code: 't.f(); await t.g(); throw new Error("guest")' }, 'ERR_ISOLATE_ABORTED'],
      'when the code uses too much memory': [{ config: { memoryLimit: 16 }, code: 't.f(); await t.g(); const kept = []; for (;;) kept.push(new Array(1000).fill(1.5))' }, 'ERR_ISOLATE_MEMORY'],
    };
    for (const [what, [options, expected]] of Object.entries(WAYS)) {
      test(what, async () => {
        const { signal } = await ended(Sandbox, options);
        assert.equal(signal.aborted, true);
        if (expected === reason) {
          assert.equal(signal.reason, reason);
        } else {
          assert.ok(signal.reason instanceof Error);
          assert.deepEqual([signal.reason.name, signal.reason.code], ['AbortError', expected]);
        }
      });
    }

    test('after the tool was called, however busy the host is', async () => {
      for (const code of ['for (const n of [1, 2, 3]) t.f({ n }); return 1', 'for (const n of [1, 2, 3]) t.f({ n }); throw 1']) {
        for (let round = 0; round < 10; round += 1) {
          const signals = [];
          const execution = new Sandbox().execute(code, [tool('t:f')], (_name, _params, { signal }) => {
            signals.push(signal);
            return forever;
          });
          block(round);
          await execution;
          assert.equal(signals.length, 3);
          await until(() => signals.every(({ aborted }) => aborted));
        }
      }
    });

    test('and no tool is called once the code was stopped', async () => {
      const called = [];
      const execution = new Sandbox({ timeout: 100 }).execute('for (const n of [1, 2, 3]) t.f({ n }); for (;;);', [tool('t:f')], (_name, { n }) => called.push(n));
      block(1_000);
      assert.equal((await execution).failure.code, 'ERR_ISOLATE_DEADLINE');
      assert.deepEqual(called, []);
    });

    test('unless the call has settled', async () => {
      const signals = [];
      let aborts = 0;
      const executor = async (_name, { fails }, context) => {
        signals.push(context.signal);
        context.signal.addEventListener('abort', () => { aborts += 1; });
        if (fails) throw new Error('failed');
      };
      const code = 'await t.f({}); await t.f({ fails: true }).catch(() => {}); return 1';
      assert.equal(await resultOf(new Sandbox(), code, [tool('t:f')], executor), 1);
      await sleep(20);
      assert.deepEqual([signals.map(({ aborted }) => aborted), aborts], [[false, false], 0]);
    });

    test('each call has its own, the same each time it is read', async () => {
      const contexts = [];
      await resultOf(new Sandbox(), 'await Promise.all([t.f(), t.f()])', [tool('t:f')], async (_name, _params, context) => { contexts.push(context); });
      const [first, second] = contexts;
      assert.equal(first.signal, first.signal);
      assert.notEqual(first.signal, second.signal);
      assert.deepEqual(Object.keys(first), ['signal']);
      // Read for the first time after its call has settled.
      assert.equal({ ...second }.signal.aborted, false);
    });

    test('also if it is first read afterwards', async () => {
      let context;
      const started = gate();
      const sandbox = new Sandbox();
      const execution = sandbox.execute('await t.f()', [tool('t:f')], (_name, _params, given) => { context = given; started.open(); return forever; });
      await started.promise;
      sandbox.dispose();
      await execution;
      assert.deepEqual([context.signal.aborted, context.signal.reason.code], [true, 'ERR_ISOLATE_DISPOSED']);
    });

    test('for what takes signals', async () => {
      const settled = [];
      const note = (promise) => promise.then(() => settled.push('done'), (error) => settled.push(error.name));
      const sandbox = new Sandbox();
      const started = gate();
      const execution = sandbox.execute('await t.f()', [tool('t:f')], (_name, _params, { signal }) => {
        assert.ok(signal instanceof AbortSignal);
        void note(sleep(60_000, undefined, { signal }));
        void note(once(new EventEmitter(), 'never', { signal }));
        void note(new Promise((_, reject) => { AbortSignal.any([signal]).addEventListener('abort', ({ target }) => reject(target.reason)); }));
        // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is about that
        void note(new Promise((_, reject) => { signal.onabort = ({ target }) => reject(target.reason); }));
        void note(new Promise((_, reject) => { signal.addEventListener('abort', { handleEvent({ target }) { reject(target.reason); } }); }));
        started.open();
        return forever;
      });
      await started.promise;
      sandbox.dispose();
      await execution;
      await until(() => settled.length === 5);
      assert.deepEqual(settled, Array(5).fill('AbortError'));
    });

    test('listeners can be removed', async () => {
      const heard = [];
      const listener = () => { heard.push('function'); };
      const object = { handleEvent() { heard.push('object'); } };
      const { promise, open } = gate();
      const sandbox = new Sandbox();
      const execution = sandbox.execute('await t.f()', [tool('t:f')], (_name, _params, { signal }) => {
        for (const each of [listener, object]) {
          signal.addEventListener('abort', each);
          signal.addEventListener('abort', each);
        }
        signal.removeEventListener('abort', object);
        // oxlint-disable-next-line unicorn/no-invalid-remove-event-listener -- one that was not added
        signal.removeEventListener('abort', () => {});
        signal.removeEventListener('abort', null);
        // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is about that
        signal.onabort = object.handleEvent;
        assert.equal(signal.onabort, object.handleEvent);
        // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is about that
        signal.onabort = null;
        assert.equal(signal.onabort, null);
        open();
        return forever;
      });
      await promise;
      sandbox.dispose();
      await execution;
      assert.deepEqual(heard, ['function']);
    });
  });

  test(`${kind}: what listeners throw or reject with is reported, and the others are called`, async () => {
    const result = await run(`
      import { subscribe } from 'node:diagnostics_channel';
      const reports = [];
      subscribe('isolated-v8:unhandled-host-error', ({ error, origin }) => { reports.push(origin + ' ' + error.message); });
      const sandbox = new ivm.${kind}();
      let heard = 0;
      const executor = (name, params, { signal }) => {
        if (name === 't:g') return 1;
        signal.addEventListener('abort', () => { throw new Error('thrown'); });
        signal.addEventListener('abort', async () => { throw new Error('rejected'); });
        signal.addEventListener('abort', { handleEvent() { throw new Error('of an object'); } });
        signal.addEventListener('abort', { get handleEvent() { throw new Error('of a getter'); } });
        signal.onabort = () => { throw new Error('of onabort'); };
        signal.addEventListener('abort', () => { heard += 1; });
        return new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)); });
      };
      const { result } = await sandbox.execute('t.f(); t.f(); await t.g(); return 5', ['t:f', 't:g'].map((name) => ({ name, description: '' })), executor);
      for (const end = Date.now() + 10_000; reports.length < 10 && Date.now() < end;) await new Promise((resolve) => { setTimeout(resolve, 5); });
      console.log(result, heard, [...new Set(reports)].sort().join(', '), reports.length);
      await sandbox.close();`);
    assert.deepEqual([result.code, result.stdout.trim()], [0, '5 2 signal of a getter, signal of an object, signal of onabort, signal rejected, signal thrown 10'], result.stderr);
  });

  test(`${kind}: many pending calls are aborted in slices`, async () => {
    const CALLS = 2_000;
    let aborted = 0;
    let before = 0;
    // Most calls that were aborted in one turn of the event loop.
    let most = 0;
    const interval = setInterval(() => { most = Math.max(most, aborted - before); before = aborted; }, 1);
    const executor = (name, _params, { signal }) => {
      if (name === 't:g') return 1;
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted += 1;
          for (const end = performance.now() + 0.2; performance.now() < end;);
          reject(signal.reason);
        });
      });
    };
    try {
      const code = `for (let i = 0; i < ${CALLS}; i += 1) t.f().catch(() => {}); await t.g(); return 1`;
      assert.equal(await resultOf(new Sandbox(), code, [tool('t:f'), tool('t:g')], executor), 1);
      await until(() => aborted === CALLS);
      await until(() => before === CALLS);
    } finally {
      clearInterval(interval);
    }
    assert.ok(most < CALLS / 2, `${most}`);
  });
}
