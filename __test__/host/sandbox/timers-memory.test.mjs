// A guest that reaches its limit of memory while it sets a timer. V8 takes memory there while the table of timers is locked, and the end of
// an execution locks that table too, as does the thread that enforces all limits of time.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';

test('a timer that takes the last of the memory', { timeout: 120_000 }, async () => {
  const { code, timedOut, stdout, stderr } = await run(`
    const { createSandbox } = ivm;
    const sandbox = createSandbox({}, { timers: true, memoryLimit: 16, timeout: 10_000 });
    const fill = (coarse, fine) => \`const kept = [];
      for (let i = 0; i < \${coarse}; i++) kept.push(new Intl.DateTimeFormat('en'));
      for (let i = 0; i < \${fine}; i++) kept.push(new Intl.PluralRules('en'));\`;
    const timers = 'for (let i = 0; i < 990; i++) setTimeout(() => {}, 500); return 1';
    const ends = async (coarse, fine) => (await sandbox.execute(fill(coarse, fine) + timers)).failure?.code === 'ERR_ISOLATE_MEMORY';
    /** The largest number below \`most\` for which \`test\` does not hold. */
    const last = async (most, test) => {
      let least = 0;
      while (most - least > 1) {
        const middle = (least + most) >> 1;
        if (await test(middle)) most = middle; else least = middle;
      }
      return least;
    };
    const coarse = await last(8_000, (count) => ends(count, 0)) - 2;
    const fine = await last(4_000, (count) => ends(coarse, count));
    let atLimit = 0;
    for (let more = 0; more < 16; more += 1) {
      const execution = sandbox.execute(fill(coarse, fine + more) + timers);
      const outcome = await Promise.race([execution, new Promise((resolve) => { setTimeout(resolve, 20_000, 'hung'); })]);
      if (outcome === 'hung') { console.log('hung'); break; }
      if (outcome.failure?.code === 'ERR_ISOLATE_MEMORY') atLimit += 1;
    }
    // The timers of an isolate that has not ended would be due.
    await new Promise((resolve) => { setTimeout(resolve, 700); });
    const other = createSandbox({}, { timeout: 300 }).execute('for (;;);');
    const late = await Promise.race([other, new Promise((resolve) => { setTimeout(resolve, 20_000, 'no limits'); })]);
    console.log(coarse > 0 && fine > 0 && atLimit > 3, late.failure?.code ?? late);
    process.exit(0);`, { timeout: 110_000 });
  assert.equal(timedOut, false, stdout);
  assert.deepEqual([code, stdout.trim()], [0, 'true ERR_ISOLATE_DEADLINE'], stderr);
});
