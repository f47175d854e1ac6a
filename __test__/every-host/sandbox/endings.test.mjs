// After the end of an execution none of its work continues: calls of the host that have not begun do not begin.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const ivm = createRequire(import.meta.url)('../../../index.js');
const CALLS = 200;
const code = `const all = []; for (let i = 0; i < ${CALLS}; i += 1) all.push(tools.x({ i })); await Promise.all(all);`;

/** Keeps the host busy with each call, so that calls are queued when the execution ends. */
function busyTool() {
  const seen = { calls: 0, onCall: () => {} };
  const executor = async () => {
    seen.calls += 1;
    for (const until = performance.now() + 15; performance.now() < until;);
    seen.onCall();
  };
  return { seen, executor };
}

const kinds = {
  IsolatedVMSandbox: [ivm.IsolatedVMSandbox, (sandbox) => sandbox.dispose()],
  SubprocessSandbox: [ivm.SubprocessSandbox, (sandbox) => sandbox.terminate()],
};

for (const [kind, [Sandbox, end]] of Object.entries(kinds)) {
  describe(kind, () => {
    test('queued host calls do not begin after the timeout', async () => {
      const { seen, executor } = busyTool();
      const outcome = await new Sandbox({ timeout: 600 }).execute(code, [{ name: 'tools:x', description: '' }], executor);
      assert.equal(outcome.failure.code, 'ERR_ISOLATE_DEADLINE');
      const { calls } = seen;
      assert.ok(calls < CALLS, `${calls} calls`);
      await new Promise((resolve) => { setTimeout(resolve, 300); });
      assert.equal(seen.calls, calls);
    });

    test('queued host calls do not begin after disposal', async () => {
      const { seen, executor } = busyTool();
      const sandbox = new Sandbox({ timeout: 30_000 });
      seen.onCall = () => { if (seen.calls === 3) end(sandbox); };
      const outcome = await sandbox.execute(code, [{ name: 'tools:x', description: '' }], executor);
      assert.equal(outcome.failure.code, 'ERR_ISOLATE_DISPOSED');
      assert.ok(seen.calls < 20, `${seen.calls} calls`);
    });
  });
}

/** A guest that waits for an answer of its host needs some time to notice its end, so there are many rounds. */
const ROUNDS = 60;
const loop = 'for (;;) f();';

const ends = {
  async 'an isolate that is disposed of'(f) {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    await context.global.set('f', new ivm.Callback(f));
    const ended = context.eval(loop).catch(() => {});
    return { ended, end: () => isolate.dispose() };
  },
  async 'a call that is aborted'(f) {
    const isolate = new ivm.Isolate();
    const context = await isolate.createContext();
    await context.global.set('f', new ivm.Reference(f));
    const controller = new AbortController();
    const ended = context.eval('for (;;) f.applySyncPromise();', { signal: controller.signal }).catch(() => isolate.dispose());
    return { ended, end: () => controller.abort() };
  },
  async 'a sandbox that is disposed of'(f) {
    const sandbox = ivm.createSandbox({ f });
    return { ended: sandbox.execute(loop), end: () => sandbox.dispose() };
  },
  async 'an execution that is aborted'(f) {
    const controller = new AbortController();
    return { ended: ivm.createSandbox({ f }).execute(loop, { signal: controller.signal }), end: () => controller.abort() };
  },
};

describe('a call for whose answer the guest waits does not begin after the end of', () => {
  for (const [name, start] of Object.entries(ends)) {
    test(name, async () => {
      let late = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const seen = { isOver: false, first: () => {} };
        const called = new Promise((resolve) => { seen.first = resolve; });
        const { ended, end } = await start(() => {
          late += seen.isOver ? 1 : 0;
          seen.first();
        });
        await called;
        // The guest gets its answer, and makes its next call.
        for (const until = performance.now() + 2; performance.now() < until;);
        seen.isOver = true;
        end();
        await ended;
        // What has been sent arrives.
        await new Promise((resolve) => { setTimeout(resolve, 1); });
      }
      assert.equal(late, 0);
    });
  }
});

/** Calls of `f` with large arguments, as code of the guest, and the aborts in milliseconds after the first one began. */
const LARGE_CALLS = {
  'which the guest waits for': {
    large: '({ index })', length: 40_000, call: 'for (;;) f.applySync(undefined, [large], { arguments: { copy: true } })', rounds: 20, delay: (round) => round * 2,
  },
  'whose promise the guest waits for': {
    large: '({ index })', length: 40_000, call: 'for (;;) f.applySyncPromise(undefined, [large], { arguments: { copy: true } })', rounds: 20, delay: (round) => round * 2,
  },
  // What these arguments will take in the host is determined before they are sent.
  'which the guest does not wait for': {
    large: 'true', length: 400_000, rounds: 40, delay: (round) => round % 8,
    call: 'for (let call = 0; call < 8; call += 1) f.apply(undefined, [large], { arguments: { copy: true } }).catch(() => {}); for (;;);',
  },
};

describe('after an abort, no call with large arguments begins', () => {
  for (const [what, { large, length, call, rounds, delay }] of Object.entries(LARGE_CALLS)) {
    test(what, async () => {
      const isolate = new ivm.Isolate({ memoryLimit: 256 });
      const context = await isolate.createContext();
      let isOver = false;
      let late = 0;
      let first = () => {};
      await context.global.set('f', new ivm.Reference(() => {
        late += isOver ? 1 : 0;
        first();
      }));
      await context.eval(`const large = Array.from({ length: ${length} }, (_, index) => ${large}); 0`);
      for (let round = 0; round < rounds; round += 1) {
        isOver = false;
        const called = new Promise((resolve) => { first = resolve; });
        const controller = new AbortController();
        const ended = context.eval(call, { signal: controller.signal });
        await called;
        // The guest writes the next arguments, or the host reads them.
        await new Promise((resolve) => { setTimeout(resolve, delay(round)); });
        controller.abort();
        isOver = true;
        await assert.rejects(ended, { name: 'AbortError' });
        // What the guest has sent before arrives before that.
        await context.eval('0');
      }
      assert.equal(late, 0);
      isolate.dispose();
    });
  }
});
