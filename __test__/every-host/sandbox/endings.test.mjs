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
