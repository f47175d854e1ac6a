// Programs that make isolates and drop them, without `dispose` or any hint to the garbage collector: the host's own collections end them.
// `ISOLATES=10000 node scripts/suite.mjs --file forgotten` runs it in full; the suite makes fewer.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from '../../harness.mjs';

const ISOLATES = Number(process.env.ISOLATES ?? 1_000);
const WAIT_LIMIT_MS = 60_000;
const MAX_BYTES = 2e9;

/** Counts of a program that runs `step` for each isolate, and then does ordinary work until all have ended. */
async function forget(isolates, step) {
  const { stdout, stderr, code } = await run(`
    import { readFileSync } from 'node:fs';
    const turn = () => new Promise((resolve) => { setImmediate(resolve); });
    /** Milliseconds of the longest turn of the event loop. */
    let longest = 0;
    async function make() {
      ${step}
    }
    for (let i = 0; i < ${isolates}; i += 1) await make();
    const aliveAtEnd = ivm.engineStats().alive;
    const start = performance.now();
    let before = start;
    while (ivm.engineStats().alive > 0 && performance.now() < start + ${WAIT_LIMIT_MS}) {
      globalThis.small = Array.from({ length: 100 }, (_, i) => ({ i }));
      await new Promise((resolve) => { setTimeout(resolve, 10); });
      longest = Math.max(longest, performance.now() - before);
      before = performance.now();
    }
    const { made, alive, endings, threads } = ivm.engineStats();
    const peak = 1024 * Number(/^VmHWM:\\s*(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    console.log(JSON.stringify({ made, aliveAtEnd, alive, endings, threads, peak, longest, seconds: (performance.now() - start) / 1000 }));`,
    { timeout: 180_000 });
  assert.deepEqual({ stderr, code }, { stderr: '', code: 0 });
  const result = JSON.parse(stdout);
  return result;
}

describe('isolates that are never disposed', () => {
  test('in a loop that yields to the event loop', async () => {
    const result = await forget(ISOLATES, `
      new ivm.Isolate().createContextSync();
      await turn();`);
    assert.deepEqual([result.made, result.alive, result.endings.collected], [ISOLATES, 0, ISOLATES]);
    assert.ok(result.peak < MAX_BYTES, `${result.peak} bytes`);
    // Their ends must not block the host, but a busy machine may.
    assert.ok(result.longest < 5_000, `a turn of ${result.longest} ms`);
    assert.ok(result.threads < 64, `${result.threads} threads`);
  });

  test('a few, without any garbage collection of the host', async () => {
    const result = await forget(10, 'await new ivm.Isolate().createContext();');
    assert.deepEqual([result.made, result.alive, result.endings.collected], [10, 0, 10]);
  });

  test('with large heaps', async () => {
    const result = await forget(50, `
      const context = await new ivm.Isolate().createContext();
      await context.eval('globalThis.kept = Array.from({ length: 1e6 }, (_, i) => i + 0.5); globalThis.buffer = new ArrayBuffer(2e7)');
      await turn();`);
    assert.deepEqual([result.made, result.alive, result.endings.collected], [50, 0, 50]);
    assert.ok(result.aliveAtEnd < 25, `${result.aliveAtEnd} alive`);
  });
});
