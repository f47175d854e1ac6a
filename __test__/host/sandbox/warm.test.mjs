// Isolates that wait for executions: available quickly, and used by one execution only.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { passes } from '../../isolate/helper.mjs';
import { workers } from '../../workers/helper.mjs';
import { MARKS } from '../../sandbox/isolation.mjs';

const { createSandbox, Isolate, IsolatedVMSandbox, IsolatedVmSandbox, SubprocessSandbox } = ivm;

const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

/** Waits until isolates are ready; others may take one. */
const untilReady = async () => {
  for (let i = 0; i < 100 && ivm.engineStats().warm === 0; i += 1) await sleep(10);
};

const noTools = async () => {};
const snapshot = Isolate.createSnapshot([{ code: 'var rules = { limit: 10 };' }]);

/** Each way to run code once. The code must return the result. */
const KINDS = [
  ['createSandbox', (options) => {
    const sandbox = createSandbox({}, { ...options, timers: true });
    return async (code) => {
      const { result, error } = await sandbox.execute(`async () => { ${code} }`);
      assert.equal(error, undefined);
      return result;
    };
  }],
  ['IsolatedVMSandbox', (options) => {
    const sandbox = new IsolatedVMSandbox(options);
    return async (code) => {
      const { result, error } = await sandbox.execute(code, [], noTools);
      assert.equal(error, undefined);
      return result;
    };
  }],
  ['IsolatedVmSandbox, fresh', (options) => {
    const sandbox = new IsolatedVmSandbox(null, options);
    const isolate = sandbox.createIsolate({ id: 'p' });
    return async (code) => sandbox.executeInSandbox(await isolate, `(() => { ${code} })()`, {}, { fresh: true });
  }],
];

for (const [name, make] of KINDS) {
  describe(`${name}: no state of one execution reaches the next`, () => {
    for (const options of [{ warm: 0 }, {}, { warm: 3, web: true }, { warm: 1, snapshot }, { warm: 2, snapshot, web: true }]) {
      const title = JSON.stringify({ ...options, ...(options.snapshot ? { snapshot: true } : {}) });
      test(`one after the other, ${title}`, async () => {
        const run = make(options);
        for (let i = 0; i < 6; i += 1) {
          assert.deepEqual(await run(MARKS), []);
          if (i % 2 === 0) await untilReady();
        }
      });
      // These are slow.
      if ('warm' in options && options.warm !== 2) continue;
      test(`50 at a time, ${title}`, async () => {
        const run = make(options);
        const code = MARKS.replace('return result', 'return [result, typeof lexical, typeof rules]');
        const rules = options.snapshot ? 'object' : 'undefined';
        const results = await Promise.all(Array.from({ length: 50 }, () => run(code)));
        assert.deepEqual(results, Array.from({ length: 50 }, () => [[], 'number', rules]));
      });
    }
  });
}

test('existing marks are found', async () => {
  const sandbox = new IsolatedVmSandbox();
  const isolate = await sandbox.createIsolate({ id: 'p' });
  const first = await sandbox.executeInSandbox(isolate, `(() => { ${MARKS} })()`, {});
  assert.deepEqual(first, []);
  const second = await sandbox.executeInSandbox(isolate, `(() => { ${MARKS.replace('found.push(name)', 'found[found.length] = name')} })()`, {});
  for (const mark of ['global', 'Array', 'Array.prototype', 'Math', 'symbol', 'push', 'parse', 'then', 'TypedArray', 'regexp', 'prepareStackTrace']) {
    assert.ok(second.includes(mark), mark);
  }
});

test('each isolate serves once', () => passes(`
  isolate.dispose();
  const { createSandbox, engineStats, IsolatedVMSandbox, IsolatedVmSandbox } = ivm;
  const settled = async (made, waiting) => {
    for (let i = 0; i < 500; i += 1) {
      const stats = engineStats();
      if (stats.made === made && stats.alive === 0 && stats.warm === waiting) break;
      await sleep(10);
    }
    const { alive, ended, idle, warm, made: all } = engineStats();
    assert.deepEqual({ all, alive, ended, idle, warm }, { all: made, alive: 0, ended: made, idle: 0, warm: waiting });
  };
  await settled(1, 0);
  const sandbox = createSandbox({}, { warm: 4 });
  for (let i = 0; i < 30; i += 1) {
    assert.equal((await sandbox.execute('1 + 1')).result, 2);
    if (i % 3 === 0) await settled(2 + i, 4);
  }
  await settled(31, 4);
  await Promise.all(Array.from({ length: 50 }, () => sandbox.execute('1')));
  await settled(81, 4);
  // Sandboxes with the same settings take the same isolates.
  assert.equal((await createSandbox({ x: 3 }, { warm: 4 }).execute('x')).result, 3);
  await settled(82, 4);
  // Sandboxes with other settings do not, and have their own.
  const other = new IsolatedVMSandbox({ warm: 2 });
  assert.equal((await other.execute('return 1', [], async () => {})).result, 1);
  await settled(83, 6);
  assert.equal((await createSandbox({}, { warm: 0 }).execute('1')).result, 1);
  await settled(84, 6);
  const plugins = new IsolatedVmSandbox(null, { warm: 1 });
  plugins.dispose(await plugins.createIsolate({ id: 'p' }));
  await settled(85, 7);`, { options: '{ warm: 0 }' }));

test('sandboxes end, are aborted and time out with warm isolates', async () => {
  const options = { warm: 2, timeout: 300 };
  for (let round = 0; round < 4; round += 1) {
    const sandbox = createSandbox({ wait: () => new Promise(() => {}) }, options);
    assert.equal((await sandbox.execute('1')).result, 1);
    await untilReady();
    const user = new AbortController();
    const [spins, waits, aborted] = [sandbox.execute('for (;;);'), sandbox.execute('wait()'), sandbox.execute('wait()', { signal: user.signal })];
    user.abort(new Error('enough'));
    assert.equal((await aborted).error, 'Execution was aborted: enough');
    if (round % 2 === 0) {
      sandbox[Symbol.dispose ?? Symbol.for('Symbol.dispose')]?.();
    }
    for (const { error } of await Promise.all([spins, waits])) {
      assert.match(error, /^(Execution timed out after 300ms|Sandbox has been disposed)$/);
    }
    assert.deepEqual((await createSandbox({}, options).execute(`async () => { ${MARKS} }`)).result, []);
  }
});

test('an execution that exceeds its memory does not affect others', async () => {
  const sandbox = createSandbox({}, { warm: 2, memoryLimit: 16 });
  for (let i = 0; i < 5; i += 1) {
    const { failure } = await sandbox.execute('const kept = []; for (;;) kept.push(new Array(1000).fill(1.5))');
    assert.equal(failure.code, 'ERR_ISOLATE_MEMORY');
    assert.deepEqual((await sandbox.execute(`async () => { ${MARKS} }`)).result, []);
  }
});

test('figures and clocks are those of the execution', () => passes(`
  isolate.dispose();
  const sandbox = ivm.createSandbox({ f: () => 1 }, { warm: 1, web: ['performance'], timers: true });
  for (let i = 0; i < 4; i += 1) {
    const start = performance.now();
    const { result, usage } = await sandbox.execute('async () => { f(); f(); const now = performance.now(); await new Promise((done) => setTimeout(done, 20)); return now; }');
    const took = performance.now() - start;
    assert.ok(result <= took + 1, result + ' of ' + took);
    assert.ok(usage.wallMs >= 19 && usage.wallMs <= took + 1, usage.wallMs + ' of ' + took);
    assert.ok(usage.cpuMs > 0 && usage.cpuMs <= took + 1, usage.cpuMs + ' of ' + took);
    assert.equal(usage.hostCalls, 2);
    assert.ok(usage.heapPeak > 100_000 && usage.heapPeak < 8_000_000, String(usage.heapPeak));
    // The next one's isolate is there before its execution.
    await waitFor(() => ivm.engineStats().warm === 1);
    await sleep(50);
  }`, { options: '{ warm: 0 }' }));

test('an execution finds the same heap with a warm and a new isolate', async () => {
  const peaks = [];
  for (const warm of [0, 1]) {
    const sandbox = createSandbox({}, { warm, memoryLimit: 24 });
    await sandbox.execute('1');
    if (warm > 0) await untilReady();
    const { result, usage } = await sandbox.execute('Object.getOwnPropertyNames(Function("return this")()).sort().join()');
    peaks.push({ result, usage });
  }
  assert.equal(peaks[0].result, peaks[1].result);
  assert.ok(Math.abs(peaks[0].usage.heapPeak - peaks[1].usage.heapPeak) < 500_000);
});

test('`warm` is a number', () => {
  for (const warm of [-1, NaN, '1', true, {}, 1n]) {
    const wrong = { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`warm` must be a finite number of at least 0' };
    assert.throws(() => createSandbox({}, { warm }), wrong);
    assert.throws(() => new IsolatedVMSandbox({ warm }), wrong);
    assert.throws(() => new IsolatedVmSandbox(null, { warm }), wrong);
  }
  for (const warm of [undefined, null, 0, 1.5, 1e9]) createSandbox({}, { warm });
});

test('warm isolates hold no thread and are not disposed', () => passes(`
  isolate.dispose();
  const { createSandbox, engineStats } = ivm;
  const sandbox = createSandbox({}, { warm: 12 });
  for (let i = 0; i < 3; i += 1) await sandbox.execute('1');
  await waitFor(() => engineStats().warm === 12 && engineStats().threads === 0);
  for (let i = 0; i < 20; i += 1) {
    const { threads, idle, alive, warm } = engineStats();
    assert.deepEqual({ threads, idle, alive, warm }, { threads: 0, idle: 0, alive: 0, warm: 12 });
    await sleep(50);
  }`, { options: '{ warm: 0 }' }));

describe('warm isolates end with their host', () => {
  const program = `
    const sandbox = ivm.createSandbox({}, { warm: 8 });
    if ((await sandbox.execute('1')).result !== 1) throw new Error('no result');
    for (let i = 0; i < 1000 && ivm.engineStats().warm < 8; i += 1) await sleep(10);
    if (ivm.engineStats().warm !== 8) throw new Error('no warm isolates');`;

  // Otherwise it would wait for a minute.
  test('a process ends by itself', () => passes(`${program}\nisolate.dispose();`));

  test('by process.exit', () => passes(`${program}
    process.on('exit', () => { console.log('the end of the program'); });
    process.exit(0);`));

  test('during their creation', () => passes(`
    const sandbox = ivm.createSandbox({}, { warm: 64 });
    await sandbox.execute('1');
    process.on('exit', () => { console.log('the end of the program'); });
    process.exit(0);`));

  test('a worker ends', () => workers(`
    const stats = () => ivm.engineStats().warm;
    const worker = await ready();
    same(stats(), 8);
    await worker.terminate();
    for (let i = 0; i < 1000 && stats() > 0; i += 1) await sleep(10);
    same(stats(), 0);
    // At any point of its work.
    for (let round = 0; round < 6; round += 1) {
      const busy = await ready('busy');
      await sleep(round * 7);
      await busy.terminate();
    }
    for (let i = 0; i < 1000 && stats() > 0; i += 1) await sleep(10);
    same(stats(), 0);
    same((await ivm.createSandbox({}).execute('6 * 7')).result, 42);`, `
    if (workerData === 'busy') {
      const sandbox = ivm.createSandbox({}, { warm: 8 });
      await sandbox.execute('1');
      tell();
      for (;;) await Promise.all([sandbox.execute('1'), sandbox.execute('2')]);
    }
    ${program}
    tell();
    setInterval(() => {}, 1000);`));
});

test('isolates of processes are not affected', async () => {
  const before = ivm.engineStats();
  const { result } = await new SubprocessSandbox({ snapshot }).execute('return 1', [], noTools);
  assert.equal(result, 1);
  const { made, warm } = ivm.engineStats();
  assert.deepEqual([made, warm], [before.made, before.warm]);
});
