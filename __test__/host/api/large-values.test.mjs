// Values that a host reads slowly. If they arrive through the event loop, they are read piece by piece, and still in order.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { ivm } from '../../api/ivm.mjs';

const MEMORY = { memoryLimit: 128 };

/** A context whose isolate is disposed after `use`. */
async function inContext(use) {
  const isolate = new ivm.Isolate(MEMORY);
  try {
    return await use(await isolate.createContext(), isolate);
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

/** The number of turns of the event loop while `call` is in progress. */
async function turnsDuring(call) {
  let turns = 0;
  let going = true;
  const turn = () => {
    if (!going) return;
    turns += 1;
    setImmediate(turn);
  };
  setImmediate(turn);
  const result = await call();
  going = false;
  return { result, turns };
}

/** Code of a value, ten of which take more than a turn, and its expected contents. */
const KEYS = 5_000;
const OBJECT = `Object.fromEntries(Array.from({ length: ${KEYS} }, (_, i) => ['key' + i, [i, { i }]]))`;
const checkObject = (value) => {
  assert.equal(Object.keys(value).length, KEYS);
  assert.deepEqual(value.key0, [0, { i: 0 }]);
  assert.deepEqual(value[`key${KEYS - 1}`], [KEYS - 1, { i: KEYS - 1 }]);
};

test('a large result', () => inContext(async (context) => {
  const check = (list) => {
    assert.equal(list.length, 20);
    list.forEach(checkObject);
  };
  check(await context.eval(`Array.from({ length: 20 }, () => (${OBJECT}))`, { copy: true }));
  check(await context.eval(`(async () => Array.from({ length: 20 }, () => (${OBJECT})))()`, { copy: true, promise: true }));
}));

test('a large argument is read while the event loop runs', () => inContext(async (context) => {
  let during = 0;
  let seen;
  await context.global.set('take', (value) => {
    seen = value;
    during = turns;
    return 'taken';
  });
  await context.eval(`const big = ${OBJECT}; 0`);
  let turns = 0;
  let going = true;
  const turn = () => {
    turns += 1;
    if (going) setImmediate(turn);
  };
  // Counting starts when the guest is about to call.
  await context.global.set('ready', new ivm.Callback(() => { turns = 0; }));
  setImmediate(turn);
  const answer = await context.eval('ready(); take(Array.from({ length: 40 }, () => ({ ...big, other: {} })))');
  going = false;
  assert.equal(answer, 'taken');
  assert.equal(seen.length, 40);
  assert.equal(Object.keys(seen[39]).length, KEYS + 1);
  assert.ok(during > 3, `${during} turns`);
}));

test('calls and results keep their order', () => inContext(async (context) => {
  const order = [];
  const note = (name) => (value) => { order.push(`${name} ${typeof value === 'object' ? 'large' : value}`); };
  await context.global.set('log', new ivm.Callback(note('log'), { ignored: true }));
  await context.global.set('call', note('call'));
  const first = context.eval(`const big = Array.from({ length: 15 }, () => (${OBJECT})); log(1); log(big); log(2); log(big); call(3); log(4); big`, { copy: true })
    .then(note('result'));
  const second = context.eval('log(5); 6').then(note('result'));
  await Promise.all([first, second]);
  assert.deepEqual(order, ['log 1', 'log large', 'log 2', 'log large', 'call 3', 'log 4', 'result large', 'log 5', 'result 6']);
}));

test('another isolate answers a sync call in between', () => inContext((context) => inContext(async (other) => {
  const result = context.eval(`Array.from({ length: 10 }, () => (${OBJECT}))`, { copy: true });
  const sums = [];
  let going = true;
  const ask = () => {
    if (!going) return;
    sums.push(other.evalSync('1 + 1'));
    setImmediate(ask);
  };
  setImmediate(ask);
  assert.equal((await result).length, 10);
  going = false;
  assert.ok(sums.length > 0 && sums.every((sum) => sum === 2));
})));

test('the memory of a value that is being read is not used for others', () => inContext((context) => inContext(async (other) => {
  const result = context.eval(`Array.from({ length: 10 }, () => (${OBJECT}))`, { copy: true });
  let asked = 0;
  let going = true;
  const ask = () => {
    if (!going) return;
    asked += 1;
    const values = other.evalSync(`Array.from({ length: 20_000 }, (_, i) => 'other' + i + '${asked}')`, { copy: true });
    assert.deepEqual([values.length, values[0], values[19_999]], [20_000, `other0${asked}`, `other19999${asked}`]);
    setImmediate(ask);
  };
  setImmediate(ask);
  (await result).forEach(checkObject);
  going = false;
  assert.ok(asked > 0);
})));

for (const [name, letter] of [['ASCII', 'a'], ['Latin-1', '\xe9'], ['two-byte', '\u0416'], ['zero', '\0']]) {
  test(`long strings: ${name}`, () => inContext((context) => {
    for (const length of [16_383, 16_384, 100_000, 9_000_000]) {
      // A letter of its own at the end, since a part may be read in another way than the whole.
      const text = `${'x'.repeat(length - 1)}${letter}`;
      context.global.setSync('text', text);
      assert.equal(context.evalSync(`text.length === ${length} && text === 'x'.repeat(${length - 1}) + ${JSON.stringify(letter)}`), true);
      assert.ok(context.evalSync('text') === text, `${length} characters`);
    }
  }));
}

test('a sync call into the isolate whose large argument is being read', () => inContext(async (context) => {
  await context.global.set('take', new ivm.Callback((value) => value.length));
  const under = context.eval(`take(Array.from({ length: 10 }, () => (${OBJECT})))`);
  let nested = 0;
  let going = true;
  const ask = () => {
    if (!going) return;
    nested += context.evalSync('1');
    setImmediate(ask);
  };
  setImmediate(ask);
  assert.equal(await under, 10);
  going = false;
  assert.ok(nested > 0);
}));

test('the async context of the caller', () => inContext(async (context) => {
  const storage = new AsyncLocalStorage();
  await context.global.set('store', (value) => `${storage.getStore()} ${value.length}`);
  const found = await storage.run('mine', () => context.eval(`store(Array.from({ length: 10 }, () => (${OBJECT})))`));
  assert.equal(found, 'mine 10');
}));

test('an isolate that ends while its values are read', () => inContext(async (context, isolate) => {
  let called = 0;
  await context.global.set('take', new ivm.Callback(() => { called += 1; isolate.dispose(); }, { ignored: true }));
  const result = context.eval(`const big = Array.from({ length: 10 }, () => (${OBJECT})); take(big); take(big); for (;;);`);
  await assert.rejects(result, { code: 'ERR_ISOLATE_DISPOSED' });
  assert.ok(called >= 1);
}));

test('a call that is aborted while its result is read', () => inContext(async (context) => {
  const controller = new AbortController();
  await context.global.set('soon', new ivm.Callback(() => { setImmediate(() => controller.abort(new RangeError('enough'))); }, { ignored: true }));
  const result = context.eval(`const big = Array.from({ length: 30 }, () => (${OBJECT})); soon(); big`, { copy: true, signal: controller.signal });
  await assert.rejects(result, { name: 'RangeError', message: 'enough' });
  assert.equal(await context.eval('1 + 1'), 2);
}));

test('more arguments than fit on the stack', () => inContext(async (context) => {
  await context.global.set('count', (...args) => args.length);
  const count = () => context.eval('const part = Array.from({ length: 30 }, () => ({})); count(...Array(30_000).fill(part))')
    .catch((error) => error.name);
  const counted = await count();
  assert.ok(counted === 30_000 || counted === 'RangeError', String(counted));
}));

test('an invalid argument among many', () => inContext(async (context) => {
  await context.global.set('take', (...args) => args.length);
  const call = `(() => { const big = ${OBJECT}; return take(big, new RegExp('(?:a|b)'.repeat(1e5)), big); })()`;
  await assert.rejects(context.eval(call), { message: 'Unable to deserialize cloned data: a regular expression that takes too long to make' });
  assert.equal(await context.eval('take(1, 2)'), 2);
}));

test('the event loop turns while large values are read', async () => {
  const sandbox = ivm.createSandbox({ f: (value) => value.length }, MEMORY);
  const { result, turns } = await turnsDuring(() => sandbox.execute(`if (1) {} return f(Array.from({ length: 40 }, () => (${OBJECT})))`));
  assert.equal(result.result, 40);
  assert.ok(turns > 3, `${turns} turns`);
});
