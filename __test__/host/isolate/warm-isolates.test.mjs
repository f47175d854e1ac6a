// Isolates of the API that were made in advance: available quickly, and never used before.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { MARKS } from '../../sandbox/isolation.mjs';
import { passes } from '../../isolate/helper.mjs';

const { Isolate } = ivm;
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

/** A context's `console` is V8's own, without any marks of the sandboxes. */
const CODE = `(() => { ${MARKS} })()`;

/** Waits until isolates are ready. */
const untilReady = async () => {
  for (let i = 0; i < 500 && ivm.engineStats().warm === 0; i += 1) await sleep(10);
  assert.notEqual(ivm.engineStats().warm, 0);
};

describe('no state of one isolate reaches the next', () => {
  for (const options of [{}, { memoryLimit: 16 }, { memoryLimit: 16, warm: 3, onCatastrophicError() {} }, { warm: 0 }]) {
    const title = JSON.stringify({ ...options, ...(options.onCatastrophicError ? { onCatastrophicError: true } : {}) });
    test(`one after the other, ${title}`, async () => {
      for (let i = 0; i < 6; i += 1) {
        const isolate = new Isolate(options);
        const contexts = i % 2 === 0 ? [isolate.createContextSync(), isolate.createContextSync()] : [await isolate.createContext()];
        for (const context of contexts) assert.deepEqual(context.evalSync(CODE, { copy: true }), []);
        isolate.dispose();
        if (options.warm !== 0) await untilReady();
      }
    });
  }

  test('many at a time', async () => {
    const results = await Promise.all(Array.from({ length: 60 }, async () => {
      const isolate = new Isolate({ memoryLimit: 16, warm: 5 });
      const found = await (await isolate.createContext()).eval(CODE, { copy: true });
      isolate.dispose();
      return found;
    }));
    assert.deepEqual(results.flat(), []);
  });
});

test('each warm isolate becomes one isolate', () => passes(`
  isolate.dispose();
  const { engineStats, Isolate } = ivm;
  const settled = async (expected) => {
    const now = () => { const { made, alive, warm } = engineStats(); return { made, alive, warm }; };
    for (let i = 0; i < 500 && JSON.stringify(now()) !== JSON.stringify(expected); i += 1) await sleep(10);
    assert.deepEqual(now(), expected);
  };
  await settled({ made: 1, alive: 0, warm: 0 });
  new Isolate({ memoryLimit: 16 }).dispose();
  await settled({ made: 2, alive: 0, warm: 1 });
  const first = new Isolate({ memoryLimit: 16 });
  await settled({ made: 3, alive: 1, warm: 0 });
  // Only one with the same options.
  const larger = new Isolate({ memoryLimit: 17 });
  first.dispose();
  await settled({ made: 4, alive: 1, warm: 1 });
  larger.dispose();
  await settled({ made: 4, alive: 0, warm: 2 });
  new Isolate({ memoryLimit: 16, warm: 4 }).dispose();
  await settled({ made: 5, alive: 0, warm: 5 });
  // These are created on demand, and none is created in advance for them.
  const snapshot = Isolate.createSnapshot([{ code: 'var there = 1' }]);
  const { made } = engineStats();
  for (const options of [{ warm: 0 }, { inspector: true }, { hostStacks: true }, { snapshot }]) new Isolate({ memoryLimit: 16, ...options }).dispose();
  await settled({ made: made + 4, alive: 0, warm: 5 });
`, { options: '{ warm: 0 }' }));

test('creating many isolates returns ordinary ones', () => passes(`
  const { engineStats, Isolate } = ivm;
  const settings = { memoryLimit: 16, warm: 2 };
  const figures = (one) => {
    const context = one.createContextSync();
    const heap = one.getHeapStatisticsSync();
    const { total_heap_size, heap_size_limit, externally_allocated_size } = heap;
    return { total_heap_size, heap_size_limit, externally_allocated_size, references: one.referenceCount, value: context.evalSync('1 + 1') };
  };
  const unwarmed = figures(new Isolate({ memoryLimit: 16, warm: 0 }));
  new Isolate(settings).dispose();
  for (let i = 0; i < 500 && engineStats().warm < 2; i += 1) await sleep(10);
  assert.equal(engineStats().warm, 2);
  const waited = new Isolate(settings);
  assert.equal(engineStats().warm, 1);
  // The time to make it does not count for its user.
  assert.equal(waited.cpuTime, 0n);
  assert.deepEqual(figures(waited), unwarmed);
  // Its limits, and the listener for its end.
  const messages = [];
  const doomed = new Isolate({ ...settings, onCatastrophicError: (message) => { messages.push(message); } });
  assert.equal(engineStats().warm, 0);
  const realm = doomed.createContextSync();
  const out = await errorOf(() => realm.eval('const all = []; for (;;) all.push(new Array(1000).fill(1.5))'));
  assert.equal(out.code, 'ERR_ISOLATE_MEMORY');
  for (let i = 0; i < 500 && engineStats().warm < 2; i += 1) await sleep(10);
  const lost = new Isolate({ ...settings, onCatastrophicError: (message) => { messages.push(message); } });
  assert.equal(engineStats().warm, 1);
  const hangs = lost.createContextSync();
  const given = await errorOf(() => hangs.eval("Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", { timeout: 200 }));
  assert.equal(given.code, 'ERR_ISOLATE_UNRESPONSIVE');
  for (let i = 0; i < 100 && messages.length === 0; i += 1) await sleep(10);
  assert.equal(messages.length, 1);
  isolate.dispose();
`, { options: '{ warm: 0 }' }));

test('`warm` is a number', () => {
  for (const warm of [-1, NaN]) assert.throws(() => new Isolate({ warm }), { name: 'Error', message: '`warm` must be at least 0', code: 'ERR_INVALID_ARG' });
  for (const warm of ['1', true, {}, 1n]) assert.throws(() => new Isolate({ warm }), { name: 'TypeError', message: '`warm` must be a number', code: 'ERR_INVALID_ARG' });
  for (const warm of [undefined, null, 0, 1.5, 1e9, 1 / 0]) new Isolate({ memoryLimit: 8, warm }).dispose();
});
