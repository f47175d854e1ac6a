// Every way to end × every state of a guest × main thread and worker: the right exit code, no signal, no hang, and all output. program.mjs
// defines the states.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { join } from 'node:path';
import { host, isOfHost, root, runFile } from '../../harness.mjs';

const PROGRAM = join(root, '__test__/exit/program.mjs');
/** The length of the main thread's output, if it ends the process. */
const LENGTH = 30_000;

/** The maximum time of each program, even on a busy machine. */
const LIMIT_MS = 30_000;
const AT_A_TIME = 3;

const STATES = [
  'idle', 'loop', 'microtasks', 'hang', 'out of memory', 'parked', 'given up', 'suspended', 'Atomics.wait', 'a sync call',
  'an async call', 'nested calls', 'endless calls', 'applySyncPromise', 'being made', 'being disposed',
  'a sandbox that loops', 'a sandbox that waits', 'a debugger pause', 'an import that waits', 'a resolver that waits',
];

/** Exit code and expected error, by the way in which the process or worker ends. */
const ENDINGS = {
  natural: { code: 3 },
  'process.exit': { code: 7 },
  uncaught: { code: 1, error: 'of the program itself' },
};
/** The result of Deno's `process.exit` for a guest that waits, one that runs and one that is being called. */
const DENO_EXIT = { 'Deno.exit': { code: 7 } };
const endingsOf = (state) => (host === 'deno' && ['idle', 'loop', 'nested calls'].includes(state) ? { ...ENDINGS, ...DENO_EXIT } : ENDINGS);
const workerEndingsOf = (state) => ({ terminate: { code: 1 }, ...endingsOf(state) });

/** Only Linux can suspend a thread. */
const isPossible = (state) => state !== 'suspended' || process.platform === 'linux';

// This queue starts all of them, a few at a time, in whatever order the tests request them.
const queue = [];
const running = new Set();
const next = () => {
  while (running.size < AT_A_TIME && queue.length > 0) {
    const { args, resolve } = queue.shift();
    const run = runFile(PROGRAM, { args, timeout: LIMIT_MS });
    running.add(run);
    resolve(run);
    run.finally(() => {
      running.delete(run);
      next();
    });
  }
};
const ran = (...args) => new Promise((resolve) => {
  queue.push({ args, resolve });
  queueMicrotask(next);
});

/** @param {import('../../harness.mjs').RunResult} result */
const outcome = ({ code, signal, timedOut, stdout }) => ({
  code, signal, timedOut, stdout: stdout.trimEnd().replace(/x{1000,}/, (long) => `x * ${long.length}`),
});

/** Only the program's own expected error is reported. */
function assertReported({ stderr }, error) {
  if (error === undefined) assert.equal(stderr, '');
  else assert.ok(stderr.includes(error), stderr);
  assert.doesNotMatch(stderr, /panick|fatal|SIG|Segmentation|UnhandledPromise/i);
}

for (const state of STATES.filter((_, index) => isOfHost(index)).filter(isPossible)) {
  const results = new Map(Object.keys(endingsOf(state)).map((ending) => [ending, ran(state, ending)]));
  const ofWorkers = workerEndingsOf(state);
  const workers = ran(state, 'workers', Object.keys(ofWorkers).join());

  describe(state, () => {
    for (const [ending, { code, error }] of Object.entries(endingsOf(state))) {
      test(`${ending}, on the main thread`, async () => {
        const result = await results.get(ending);
        assert.deepEqual(outcome(result), { code, signal: null, timedOut: false, stdout: `x * ${LENGTH}` });
        assertReported(result, error);
      });
    }

    test(`${Object.keys(ofWorkers).join(', ')}, in workers`, async () => {
      const result = await workers;
      const expectedOutcomes = Object.entries(ofWorkers).map(([ending, expected]) => ({ ending, ...expected }));
      assert.deepEqual(outcome(result), { code: 0, signal: null, timedOut: false, stdout: JSON.stringify([...expectedOutcomes, 42, 42]) }, result.stderr);
      // Deno reports errors in workers itself.
      assertReported(result, host === 'deno' ? ENDINGS.uncaught.error : undefined);
    });
  });
}

after(() => { queue.length = 0; });
