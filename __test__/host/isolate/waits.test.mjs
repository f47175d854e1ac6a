// `Atomics.waitAsync` takes memory under a lock of V8 that all isolates share. A guest that reaches a limit of its memory there is interrupted
// only after it has released that lock: V8 needs the same lock to interrupt it.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';

const SETUP = `
  /** Reaches the limit with ever more waits, which are objects in V8's heap and twice as much memory outside of it. */
  const code = (before) => \`
    const kept = Array.from({ length: \${before} }, () => new Intl.DateTimeFormat('en'));
    const array = new Int32Array(new SharedArrayBuffer(8));
    for (let i = 0; i < 2e6; i++) Atomics.waitAsync(array, 0, 0);\`;
  const make = () => new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  const limits = { timeout: 15_000, deadline: 20_000 };
  const outcome = (error) => error?.code ?? 'done';
  /** Deadlines of other isolates are met, and they can wait. */
  const others = async () => {
    const context = make();
    const late = await context.eval('for (;;);', { deadline: 200 }).catch(outcome);
    return [late, make().evalSync('Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 1)')].join();
  };
`;

const programs = {
  'in an asynchronous call': `await make().eval(code(200), limits).catch(outcome)`,
  'in a synchronous call': `(() => { try { return make().evalSync(code(200), limits); } catch (error) { return outcome(error); } })()`,
  'with waits alone': `await make().eval(code(0), limits).catch(outcome)`,
  'near the limit': `await make().eval(code(300), limits).catch(outcome)`,
};

describe('guests that reach a limit of their memory while they start to wait', () => {
  for (const [name, program] of Object.entries(programs)) {
    test(name, { timeout: 60_000 }, async () => {
      const { code, timedOut, stdout, stderr } = await run(`${SETUP}
        const own = ${program};
        console.log(own === 'ERR_ISOLATE_MEMORY', await others());
        process.exit(0);`);
      assert.equal(timedOut, false);
      assert.deepEqual([code, stdout.trim()], [0, 'true ERR_ISOLATE_DEADLINE,timed-out'], stderr);
    });
  }
});

describe('timeouts of `Atomics.waitAsync`, which V8 keeps until they are due', () => {
  const METER = `
    const { readFileSync } = await import('node:fs');
    const status = (name) => Number(new RegExp(name + ':\\\\s+(\\\\d+)').exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
    make();
    const before = status('VmRSS');
    const grown = () => Math.round(status('VmHWM') - before);`;

  const passes = async (program) => {
    const { code, timedOut, stdout, stderr } = await run(`${SETUP}${METER}${program}
      process.exit(0);`);
    assert.equal(timedOut, false);
    assert.deepEqual([code, stdout.trim()], [0, 'true'], stdout + stderr);
  };

  test('of waits that are over count for their isolate', { timeout: 60_000 }, () => passes(`
    // Each turn begins when a short wait is over.
    const endless = \`
      const [array, turns] = [4, 4].map((size) => new Int32Array(new SharedArrayBuffer(size)));
      const turn = () => {
        for (let i = 0; i < 5_000; i++) Atomics.waitAsync(array, 0, 0, 1e9);
        Atomics.notify(array, 0);
        return Atomics.waitAsync(turns, 0, 0, 1).value.then(turn);
      };
      turn()\`;
    const got = await make().eval(endless, { promise: true, deadline: 30_000 }).catch(outcome);
    console.log(((/MEMORY|DISPOSED/).test(got) && grown() < 250) || [got, grown()].join());`));

  test('end with their isolate', { timeout: 60_000 }, () => passes(`
    const some = 'const array = new Int32Array(new SharedArrayBuffer(4)); for (let i = 0; i < 6_000; i++) Atomics.waitAsync(array, 0, 0, 1e9); 1';
    let first;
    for (let i = 0; i < 120; i++) {
      const isolate = new ivm.Isolate({ memoryLimit: 64 });
      await (await isolate.createContext()).eval(some);
      isolate.dispose();
      first ??= grown();
    }
    console.log(grown() < first + 200 || [first, grown()].join());`));
});
