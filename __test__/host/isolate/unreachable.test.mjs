// Isolates to which the host has no handle any more. While a caller awaits a promise that a pending event will settle, they stay; otherwise
// they end.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const SETUP = `
  isolate.dispose();
  const leb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)]);
  const section = (id, content) => [id, ...leb(content.length), ...content];
  const COUNT = 500;
  const body = [0, ...Array.from({ length: 300 }, () => [0x20, 0, 0x20, 0, 0x6a, 0x21, 0]).flat(), 0x20, 0, 0x0b];
  const functions = Array.from({ length: COUNT }, () => [...leb(body.length), ...body]).flat();
  const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]),
    ...section(3, [...leb(COUNT), ...Array.from({ length: COUNT }, () => 0)])].concat(section(10, [...leb(COUNT), ...functions])));
  const make = () => {
    const context = new ivm.Isolate().createContextSync({ timers: true });
    context.global.setSync('bytes', new ivm.ExternalCopy(bytes).copyInto());
    return context;
  };
  /** Collects garbage until the promise settles. */
  const outcome = async (promise) => {
    let settled;
    promise.then((value) => { settled = { value }; }, (error) => { settled = { error: error.message }; });
    for (const end = Date.now() + 20_000; settled === undefined && Date.now() < end;) {
      gc();
      await sleep(5);
    }
    return settled;
  };
  /** Collects garbage until all isolates have ended. On a busy machine, the compilations that have begun take many seconds. */
  const allEnd = async () => {
    for (const end = Date.now() + 50_000; ivm.engineStats().alive > 0 && Date.now() < end;) {
      gc();
      await sleep(5);
    }
    assert.equal(ivm.engineStats().alive, 0);
  };
`;

const check = (code) => passes(SETUP + code, { timeout: 90_000, collects: true });

describe('an awaited promise settles', () => {
  const guests = {
    'after a timer': 'new Promise((resolve) => { setTimeout(resolve, 100, "done"); })',
    'after several timers': '(async () => { for (let i = 0; i < 10; i += 1) await new Promise((resolve) => { setTimeout(resolve, 10); }); return "done"; })()',
    'after an interval': 'new Promise((resolve) => { let left = 10; const id = setInterval(() => { if (--left === 0) { clearInterval(id); resolve("done"); } }, 10); })',
    'when a wait is over': 'Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100).value.then(() => "done")',
    'after a compilation': 'WebAssembly.compile(bytes).then(() => "done")',
    'after two compilations': 'WebAssembly.compile(bytes).then(() => WebAssembly.instantiate(bytes)).then(() => "done")',
  };
  for (const [name, guest] of Object.entries(guests)) {
    test(name, () => check(`
      const guest = ${JSON.stringify(guest)};
      assert.deepEqual(await outcome(make().eval(guest, { promise: true })), { value: 'done' });
      assert.deepEqual(await outcome(make().evalSync(guest, { promise: true })), { value: 'done' });
      assert.deepEqual(await outcome(make().eval('() => ' + guest, { reference: true }).then((it) => it.apply(undefined, [], { result: { promise: true } }))), { value: 'done' });
      await allEnd();`));
  }
});

describe('the isolate ends', () => {
  test('if nothing will settle the promise', () => check(`
    assert.deepEqual(await outcome(make().eval('new Promise(() => {})', { promise: true })), { error: 'Promise was abandoned' });
    await allEnd();`));
  test('if no caller waits for its timers', () => check(`
    make().evalSync('setInterval(() => {}, 1); setTimeout(() => {}, 1e9); 1');
    await make().eval('setTimeout(() => {}, 1e9); new Promise((resolve) => { setTimeout(resolve, 20); })', { promise: true });
    await allEnd();`));
  test('if the caller has had its deadline', () => check(`
    const guest = 'setInterval(() => {}, 1); new Promise(() => {})';
    assert.match((await outcome(make().eval(guest, { promise: true, deadline: 50 }))).error, /deadline/);
    assert.match((await outcome(make().evalSync(guest, { promise: true, deadline: 50 }))).error, /deadline/);
    await allEnd();`));
  test('when the caller has had its deadline, or has aborted the call, long before a timer', () => check(`
    for (const guest of ['setTimeout(() => {}, 1e9); new Promise(() => {})', 'Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9); new Promise(() => {})']) {
      assert.match((await outcome(make().eval(guest, { promise: true, deadline: 50 }))).error, /deadline/);
      assert.match((await outcome(make().evalSync(guest, { promise: true, deadline: 50 }))).error, /deadline/);
      const controller = new AbortController();
      const aborted = make().eval(guest, { promise: true, signal: controller.signal });
      await sleep(20);
      controller.abort();
      assert.match((await outcome(aborted)).error, /abort/i);
    }
    await allEnd();`));
  test('when a continuation of the call has exceeded its timeout', () => check(`
    const guest = 'setTimeout(() => {}, 1e9); new Promise((resolve) => { setTimeout(resolve, 1); }).then(() => { for (;;); })';
    assert.match((await outcome(make().eval(guest, { promise: true, timeout: 50 }))).error, /timed out/);
    await allEnd();`));
  test('although its timers compile WebAssembly again and again', () => check(`
    make().evalSync('let left = 0; const go = () => { while (left < 4) { left += 1; WebAssembly.compile(bytes).then(() => { left -= 1; go(); }); } }; go(); setInterval(go, 1); 1');
    await allEnd();`));
  test('after a compilation that nothing waits for', () => check(`
    make().evalSync('WebAssembly.compile(bytes); 1');
    await allEnd();`));
  test('with the worker that has called it', () => check(`
    const { isMainThread, parentPort, Worker } = await import('node:worker_threads');
    if (isMainThread) {
      const worker = new Worker(new URL(import.meta.url));
      await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
      assert.equal(ivm.engineStats().alive, 1);
      await worker.terminate();
      await allEnd();
    } else {
      make().eval('setInterval(() => {}, 1); new Promise(() => {})', { promise: true }).catch(() => {});
      parentPort.postMessage('called');
      await new Promise((resolve) => { setTimeout(resolve, 60_000); });
    }`));
});
