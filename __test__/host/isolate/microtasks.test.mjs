// What host code awaits after a delivery runs before the next delivery, however many deliveries share a turn of the event loop.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';
import { workers } from '../../workers/helper.mjs';

/** A later call awaits less often, so it would overtake an earlier one if they shared a checkpoint. */
const RECORD = `
  const expected = 's0 e0 s1 e1 s2 e2';
  let log = [];
  const record = async (index) => {
    log.push('s' + index);
    for (let count = (3 - index) * 4; count > 0; count -= 1) await undefined;
    log.push('e' + index);
  };
  const turn = () => new Promise((resolve) => { setImmediate(resolve); });
  /** What happens in ten rounds, in each of which the event loop is blocked until all messages have arrived. */
  const rounds = async (start) => {
    const found = [];
    for (let round = 0; round < 10; round += 1) {
      log = [];
      const started = start();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      await started;
      for (let turns = 0; log.length < 6 && turns < 1e4; turns += 1) await turn();
      found.push(log.join(' '));
    }
    return [...new Set(found)].join();
  };`;

const WAYS = {
  applyIgnored: 'for (let i = 0; i < 3; i++) target.applyIgnored(undefined, [i]);',
  apply: 'for (let i = 0; i < 3; i++) target.apply(undefined, [i]);',
  'Callback, ignored': 'for (let i = 0; i < 3; i++) ignored(i);',
  'Callback, async': 'for (let i = 0; i < 3; i++) later(i);',
};

const SETUP = `
  await context.global.set('target', new ivm.Reference(record));
  await context.global.set('ignored', new ivm.Callback(record, { ignored: true }));
  await context.global.set('later', new ivm.Callback(record, { async: true }));`;

describe('host code awaits between two deliveries', () => {
  for (const [name, code] of Object.entries(WAYS)) {
    test(`of calls: ${name}`, () => passes(`${RECORD}${SETUP}
      assert.equal(await rounds(() => context.eval(${JSON.stringify(code)})), expected);`));
  }

  test('of results', () => passes(`${RECORD}
    assert.equal(await rounds(() => Promise.all([0, 1, 2].map((index) => context.eval(String(index)).then(record)))), expected);`));

  test('of results of several isolates', () => passes(`${RECORD}
    const contexts = [context, ...[1, 2].map(() => new ivm.Isolate().createContextSync())];
    for (const found of await Promise.all(contexts.map((one) => one.eval('1')))) assert.equal(found, 1);
    let place = 0;
    const places = await rounds(() => { place = 0; return Promise.all(contexts.map((one) => one.eval('1').then(() => record(place++)))); });
    assert.equal(places, expected);`));

  test('of values that are read in several turns', () => passes(`${RECORD}${SETUP}
    context.evalSync('var large = Array.from({ length: 2e4 }, (_, i) => ({ i }))');
    assert.equal(await rounds(() => context.eval('for (let i = 0; i < 3; i++) target.applyIgnored(undefined, [i, large], { arguments: { copy: true } });')), expected);`));

  test('of calls in a sandbox', () => passes(`${RECORD}
    const sandbox = ivm.createSandbox({ record });
    const found = await rounds(() => sandbox.execute('await Promise.all([0, 1, 2].map((index) => record(index)))'));
    assert.equal(found, expected);
    await sandbox.dispose?.();`));

  test('in workers', () => workers(
    "same((await new Promise((resolve, reject) => { work().once('message', resolve).once('error', reject); })), 's0 e0 s1 e1 s2 e2');",
    `${RECORD}
    const { context } = make();
    ${SETUP}
    parentPort.postMessage(await rounds(() => context.eval(${JSON.stringify(WAYS.applyIgnored)})));`,
  ));
});

/**
 * The guest awaits three promises of the host. When they settle, it has got the first one; the others are in its inbox, with an answer before
 * them after which it waits.
 */
const SETTLING = `
  const flags = new SharedArrayBuffer(8);
  const view = new Int32Array(flags);
  let settlers = [];
  await context.global.set('view', new ivm.ExternalCopy(view).copyInto());
  await context.global.set('promised', new ivm.Reference((index) => new Promise((resolve) => { settlers[index] = () => resolve(index); })));
  await context.global.set('answer', new ivm.Reference(() => 0));
  const seenWhenSettled = async (order) => {
    settlers = [];
    view.fill(0);
    const seen = context.eval(\`
      seen = [];
      wait = (index) => promised.apply(undefined, [index], { result: { promise: true } }).then((value) => { seen.push(value); });
      Promise.all([
        wait(0),
        answer.apply().then(() => { Atomics.store(view, 0, 1); Atomics.wait(view, 1, 0, 2e4); }),
        wait(1),
        wait(2),
      ]).then(() => seen.join());\`, { promise: true });
    await waitFor(() => settlers.length === 3 && Atomics.load(view, 0) === 1);
    for (const index of order) settlers[index]();
    await new Promise((resolve) => { setImmediate(resolve); });
    Atomics.store(view, 1, 1);
    Atomics.notify(view, 1);
    return await seen;
  };`;

describe('promises of the host that settle together settle in their order in the guest', () => {
  for (const order of ['0,1,2', '1,0,2']) {
    test(order, () => passes(`${SETTLING}
      assert.equal(await seenWhenSettled([${order}]), '${order}');`));
  }
});

test('an exception of a `process.nextTick` callback is reported, and the other deliveries follow', () => passes(`
  const error = new Error('on purpose');
  const reported = [];
  process.on('uncaughtException', (found) => { reported.push(found); });
  const seen = [];
  await context.global.set('call', new ivm.Callback((index) => {
    seen.push(index);
    if (index % 10 === 0) process.nextTick(() => { throw error; });
  }, { ignored: true }));
  const run = context.eval('for (let i = 0; i < 100; i++) call(i)');
  block(20);
  await run;
  await waitFor(() => seen.length === 100 && reported.length === 10);
  assert.deepEqual(seen, Array.from({ length: 100 }, (_, index) => index));
  assert.ok(reported.every((found) => found === error));`));
