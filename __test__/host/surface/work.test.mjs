// The budget of work for a guest's data.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { performance } from 'node:perf_hooks';

const require = createRequire(import.meta.url);
const { now } = require('../../../surface/host/clock.js');
const { Work } = require('../../../surface/host/work.js');

const LIMIT = { code: 'ERR_ISOLATE_LIMIT' };
const busy = (milliseconds) => {
  for (const until = performance.now() + milliseconds; performance.now() < until;);
};

test('steps: exactly the limit, one by one or together', () => {
  for (const steps of [0, 1, 511, 512, 513, 5_000]) {
    const work = new Work({ steps });
    for (let index = 0; index < steps; index += 1) work.spend();
    assert.throws(() => work.spend(), { name: 'RangeError', message: `Value takes too much work: the limit is ${steps} steps`, ...LIMIT });
    assert.throws(() => work.spend(), LIMIT, 'it stays used up');
    const atOnce = new Work({ steps });
    atOnce.spend(steps);
    atOnce.check();
    assert.throws(() => atOnce.spend(), LIMIT);
    assert.throws(() => new Work({ steps }).spend(steps + 1), LIMIT);
  }
});

test('without limits none apply', () => {
  const work = new Work();
  for (let index = 0; index < 100_000; index += 1) work.spend();
  work.spend(2 ** 50);
  work.check();
});

test('time: the sum of all slices, without the pauses between them', async () => {
  const work = new Work({ time: 300 });
  const go = (milliseconds) => {
    for (let done = 0; done < milliseconds; done += 10) {
      busy(10);
      work.check();
    }
  };
  go(30);
  work.pause();
  busy(400);
  work.resume();
  go(20);
  await work.turn();
  work.extend(100);
  work.extend(-100);
  assert.throws(() => go(300), { message: 'Value takes too much work: the limit is 300 ms', ...LIMIT });
  await assert.rejects(work.turn(), LIMIT);
});

test('time: a stopped process does not count as working', () => {
  const work = new Work({ time: 300 });
  busy(400);
  work.check();
  assert.throws(() => {
    for (;;) {
      busy(10);
      work.check();
    }
  }, LIMIT);
});

test('until: the deadline of the call, pauses included', () => {
  const work = new Work({ until: now() + 20 });
  work.pause();
  busy(25);
  assert.throws(() => work.resume(), { message: 'Execution exceeded its deadline', code: 'ERR_ISOLATE_DEADLINE' });
  assert.throws(() => work.check(), { code: 'ERR_ISOLATE_DEADLINE' });
});

test('stopped: its own error, before any other', async () => {
  const errors = [];
  const work = new Work({ until: now(), time: 0, stopped: () => errors[0] });
  assert.throws(() => work.check(), { code: 'ERR_ISOLATE_DEADLINE' });
  const error = new Error('stopped');
  errors.push(error);
  assert.throws(() => work.check(), error);
  await assert.rejects(work.turn(), error);
});

test('slow steps are followed by an early clock check', () => {
  const work = new Work({ time: 100 });
  let steps = 0;
  // 512 of them would take half a second.
  assert.throws(() => {
    for (;;) {
      steps += 1;
      work.spend();
      busy(steps > 512 ? 1 : 0);
    }
  }, LIMIT);
  assert.ok(steps < 512 * 2 + 100, `${steps}`);
  assert.throws(() => {
    for (const other = new Work({ time: 60 }); ; steps += 1) {
      other.spend(64);
      busy(1);
    }
  }, LIMIT);
});

test('a slice ends after 16 ms, and the event loop turns in between', async () => {
  await new Promise((resolve) => { setImmediate(resolve); });
  const work = new Work();
  assert.equal(work.isSliceOver, false);
  busy(17);
  work.check();
  assert.equal(work.isSliceOver, true);
  let turns = 0;
  setImmediate(() => { turns += 1; });
  await work.turn();
  assert.equal(turns, 1);
  assert.equal(work.isSliceOver, false);
  work.check();
});

test('budgets of one turn share its slice', async () => {
  let gap = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    gap = Math.max(gap, performance.now() - last);
    last = performance.now();
  }, 1);
  let steps = 0;
  await Promise.all(Array.from({ length: 80 }, async () => {
    const work = new Work();
    for (let done = 0; done < 20; done += 1) {
      busy(1);
      steps += 1;
      work.check();
      if (work.isSliceOver) await work.turn();
    }
  }));
  clearInterval(timer);
  assert.equal(steps, 1_600);
  // One after the other in each turn, they would take 1,280 ms.
  assert.ok(gap < 800, `${gap} ms`);
});

test('shorter work that begins later does not wait for all running work', async () => {
  const ended = [];
  const go = async (name, milliseconds) => {
    const work = new Work();
    for (let done = 0; done < milliseconds; done += 1) {
      busy(1);
      work.check();
      if (work.isSliceOver) await work.turn();
    }
    ended.push(name);
  };
  await Promise.all([go('long', 600), go('short', 40), go('other', 60)]);
  assert.deepEqual(ended, ['short', 'other', 'long']);
});

test('a replaced clock or Promise constructor has no effect', async () => {
  const { bigint } = process.hrtime;
  const work = new Work({ time: 20 });
  const { constructor } = Promise.prototype;
  // oxlint-disable-next-line no-extend-native -- put back below
  const replace = (value) => Object.defineProperty(Promise.prototype, 'constructor', { value, writable: true, enumerable: false, configurable: true });
  try {
    process.hrtime.bigint = () => 0n;
    replace(class {});
    await work.turn();
  } finally {
    replace(constructor);
    process.hrtime.bigint = bigint;
  }
  busy(25);
  assert.throws(() => work.check(), LIMIT);
});
