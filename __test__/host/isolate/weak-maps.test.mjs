// Collections that follow weak maps, whose entries a guest determines. V8 looks up to twenty times at all entries whose keys it has not reached.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const AVAILABLE = process.platform === 'linux' && process.arch === 'x64';

/** Millions of entries, whose keys are reached at the end of a chain of weak maps, and `fill`, which makes V8 collect. */
const ENTRIES = `
  (() => {
    const keys = Array.from({ length: 1_600_000 }, () => []);
    const value = {};
    const maps = Array.from({ length: 4 }, () => new WeakMap());
    for (const map of maps) for (const key of keys) map.set(key, value);
    const chain = new WeakMap();
    let last = globalThis.first = {};
    for (let i = 0; i < 100; i += 1) {
      const next = {};
      chain.set(last, next);
      last = next;
    }
    chain.set(last, [keys, value]);
    globalThis.maps = [...maps, chain];
  })();
  const kept = [];
  const fill = (times) => { for (let i = 0; i < times; i += 1) kept[i % 8] = new Array(1 << 17).fill(i + 0.5); };
`.replaceAll(/\n\s*/g, '\n');

/** An isolate that collects in its calls. */
const OTHER = `const other = new ivm.Isolate().createContextSync();
  other.evalSync('const kept = []; const fill = (times) => { for (let i = 0; i < times; i += 1) kept[i % 8] = new Array(1 << 17).fill(i + 0.5); }');`;

describe('collections that follow weak maps', { skip: !AVAILABLE && 'elsewhere guests run on threads of their own' }, () => {
  test('do not hold a sync call beyond its limit', () => passes(`
    ivm.configureEngine({ syncCalls: 'caller' });
    ${OTHER}
    context.evalSync(${JSON.stringify(ENTRIES)});
    // V8's own tasks work on the heap first, on another thread.
    for (let quick = 0; quick < 5; await sleep(50)) {
      const began = ms();
      context.evalSync('0');
      quick = ms() - began < 15 ? quick + 1 : 0;
    }
    const began = process.cpuUsage();
    const error = syncError(() => context.evalSync('fill(Infinity)', { deadline: 500 }));
    const { user, system } = process.cpuUsage(began);
    // It may stop between two collections.
    assert.ok(['ERR_ISOLATE_UNRESPONSIVE', 'ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_DEADLINE'].includes(error.code), error.stack);
    // Of this thread and one of V8's own, each for the limit and the grace period.
    assert.ok(user + system < 3_500_000, (user + system) + ' us of processor time');
    other.evalSync('fill(100)');`, { options: '{ memoryLimit: 512 }', timeout: 120_000 }));

  test('do not make those of other isolates wait', () => passes(`
    ${OTHER}
    await context.eval(${JSON.stringify(ENTRIES)});
    let ended = false;
    const filling = errorOf(() => context.eval('fill(Infinity)', { timeout: 8_000 })).finally(() => { ended = true; });
    let [longest, calls] = [0, 0];
    while (!ended) {
      const began = performance.now();
      other.evalSync('fill(20)');
      longest = Math.max(longest, performance.now() - began);
      calls += 1;
      await sleep(1);
    }
    // It collected all the time.
    assert.notEqual((await filling).code, 'ERR_ISOLATE_MEMORY');
    assert.ok(calls > 3, calls + ' calls');
    assert.ok(longest < 2_000, longest + ' ms');`, { options: '{ memoryLimit: 512 }', timeout: 120_000 }));
});
