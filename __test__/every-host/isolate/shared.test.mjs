// Memory that a host shares with guests: waiting on it, and memory of a worker that ends.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** Set TERMINATIONS=1000 for more (with `--limit 1200`, in seconds, for the suite). */
const TERMINATIONS = Number(process.env.TERMINATIONS ?? 20);

const SHARE = `
  const view = new Int32Array(new SharedArrayBuffer(16));
  context.global.setSync('buffer', new ivm.ExternalCopy(view.buffer).copyInto());
  context.evalSync('globalThis.view = new Int32Array(buffer)');
`;

describe('Atomics.wait of a guest', () => {
  test('reads its arguments in the specified order', () => passes(`
    const code = 'const seen = []; const note = (name, value) => ({ valueOf() { seen.push(name); return value; } });'
      + 'const attempt = (...args) => { let outcome; try { outcome = Atomics.wait(...args); } catch (error) { outcome = error.name; } return outcome + " " + seen.splice(0); };'
      + 'const shared = new Int32Array(new SharedArrayBuffer(8)); const big = new BigInt64Array(new SharedArrayBuffer(8));'
      + 'const rest = [note("index", 0), note("value", 0), note("timeout", 1)];'
      + '[attempt(new Int32Array(2), ...rest), attempt(new Uint8Array(shared.buffer), ...rest), attempt([], ...rest),'
      + ' attempt(shared, note("index", -1), note("value", 0)), attempt(shared, note("index", 2), note("value", 0)),'
      + ' attempt(shared, ...rest), attempt(shared, 0, note("value", 1), note("timeout", 1)), attempt(shared, 0, note("value", 2 ** 32), 0),'
      + ' attempt(big, 0, note("value", 0), note("timeout", 1)), attempt(big, 0, note("value", 2n ** 64n), note("timeout", 1)),'
      + ' attempt(shared, 0, 0n, note("timeout", 1)), attempt(shared, 0, 0, Symbol())]';
    assert.deepEqual(await context.eval(code, { copy: true }), [
      'TypeError ', 'TypeError ', 'TypeError ',
      'RangeError index', 'RangeError index',
      'timed-out index,value,timeout', 'not-equal value,timeout', 'timed-out value',
      'TypeError value', 'timed-out value,timeout',
      'TypeError ', 'TypeError ',
    ]);
  `));

  test('does not end before its time', () => passes(`
    await context.eval('const view = new Int32Array(new SharedArrayBuffer(4))');
    const wait = await context.evalClosure('return (time) => Atomics.wait(view, 0, 0, time)', [], { result: { reference: true } });
    for (let i = 0; i < 40; i += 1) {
      const start = ms();
      assert.equal(wait.applySync(undefined, [5]), 'timed-out');
      assert.ok(ms() - start >= 4.9);
    }
  `));

  test('wakes when the host stores and notifies', () => passes(`${SHARE}
    const waiting = context.eval('const outcomes = []; for (let i = 0; i < 20; i++) { Atomics.store(view, 1, i + 1); outcomes.push(Atomics.wait(view, 0, i)); } outcomes.join()');
    const times = [];
    for (let i = 0; i < 20; i++) {
      while (Atomics.load(view, 1) !== i + 1) await sleep(0);
      await sleep(10);
      const start = ms();
      Atomics.store(view, 0, i + 1);
      Atomics.notify(view, 0);
      while (i < 19 && Atomics.load(view, 1) !== i + 2) await sleep(0);
      times.push(ms() - start);
    }
    assert.equal(await waiting, Array(20).fill('ok').join());
    // Without checks of the memory it would wait forever; the bound is for a busy machine.
    const median = times.toSorted((a, b) => a - b)[10];
    assert.ok(median < 150, String(median));`));

  test('costs almost no processor time', () => passes(`${SHARE}
    await context.eval('Atomics.wait(view, 0, 0, 100)');
    const before = process.cpuUsage();
    assert.equal(await context.eval('Atomics.wait(view, 0, 0, 1000)'), 'timed-out');
    const { user, system } = process.cpuUsage(before);
    const used = (user + system) / 1e3;
    assert.ok(used < 200, used + ' ms');`));

  test('waits for its timeout, no less and not much more', () => passes(`${SHARE}
    for (const time of [5, 100]) {
      const start = ms();
      assert.equal(await context.eval('Atomics.wait(view, 0, 0, ' + time + ')'), 'timed-out');
      const taken = ms() - start;
      assert.ok(taken >= time - 1 && taken < time + 1_000, String(taken));
    }`));

  test('wakes for another guest that notifies without storing', () => passes(`${SHARE}
    const other = new ivm.Isolate().createContextSync();
    other.global.setSync('buffer', new ivm.ExternalCopy(view.buffer).copyInto());
    const waiting = context.eval('Atomics.wait(view, 0, 0)');
    assert.equal(await other.eval('const other = new Int32Array(buffer); let count = 0; while (count === 0) count = Atomics.notify(other, 0, 1); count'), 1);
    assert.equal(await waiting, 'ok');`));

  test('has its own results and errors otherwise', () => passes(`${SHARE}
    const outcomes = (code) => { try { return context.evalSync(code); } catch (error) { return error.name; } };
    assert.deepEqual([
      'Atomics.wait(view, 0, 1)', 'Atomics.wait(view, 0, 0, 0)', 'Atomics.wait(view, 0, 0, -1)', 'Atomics.wait(view, 0, 1n)',
      'Atomics.wait(new BigInt64Array(buffer), 0, 7n)', 'Atomics.wait(new Int32Array(4), 0, 0, 1)', 'Atomics.wait(new Uint8Array(buffer), 0, 0, 1)',
      'Atomics.wait({}, 0, 0)', 'Atomics.wait(view, 9, 0)', 'new Atomics.wait(view, 0, 0, 0)', 'Atomics.wait.name + Atomics.wait.length',
      'let order = ""; const spy = (name, value) => ({ valueOf() { order += name; return value; } }); Atomics.wait(view, spy("i", 0), spy("v", 0), spy("t", 5)) + order',
    ].map(outcomes), [
      'not-equal', 'timed-out', 'timed-out', 'TypeError', 'not-equal', 'TypeError', 'TypeError', 'TypeError', 'RangeError', 'TypeError', 'wait4',
      'timed-outivt',
    ]);`));

  test('is stopped by a timeout and by the end of its isolate', () => passes(`${SHARE}
    assert.equal((await errorOf(() => context.eval('Atomics.wait(view, 0, 0)', { timeout: 50 }))).code, 'ERR_ISOLATE_TIMEOUT');
    const ended = errorOf(() => context.eval('Atomics.wait(view, 0, 0)'));
    await sleep(20);
    isolate.dispose();
    assert.equal((await ended).code, 'ERR_ISOLATE_DISPOSED');`));

  test('a guest that tampers with built-ins cannot bypass it', () => passes(`${SHARE}
    context.evalSync('Date.now = () => { throw 1; }; BigInt.asIntN = Date.now; Object.getPrototypeOf(Uint8Array.prototype).__defineGetter__("x", Date.now); Reflect.apply = Date.now');
    assert.equal(context.evalSync('Atomics.wait(view, 0, 0, 5)'), 'timed-out');`));
});

test('workers are terminated repeatedly while guests write to their memory', () => passes(`
  const { isMainThread, parentPort, Worker } = await import("node:worker_threads");
  if (isMainThread) {
    let left = ${TERMINATIONS};
    const one = () => new Promise((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url));
      worker.once('error', reject);
      worker.once('message', () => { worker.terminate().then(resolve, reject); });
    });
    await Promise.all(Array.from({ length: 4 }, async () => { while (left-- > 0) await one(); }));
  } else {
    const view = new Uint8Array(new SharedArrayBuffer(8 * 2 ** 20));
    for (let i = 0; i < 2; i++) {
      const realm = new ivm.Isolate().createContextSync();
      realm.global.setSync('buffer', new ivm.ExternalCopy(view.buffer).copyInto());
      realm.eval('const view = new Uint8Array(buffer); for (let i = 0; ; i++) { Atomics.store(view, 0, 1); view.fill(i); }').catch(() => {});
    }
    while (Atomics.load(view, 0) === 0);
    parentPort.postMessage('writing');
    setInterval(() => {}, 1000);
  }`, { timeout: Math.max(200_000, TERMINATIONS * 1000) }));

test('shared memory that can grow is refused by the same error everywhere', () => passes(`
  const refused = { name: 'TypeError', code: 'ERR_ISOLATE_TRANSFER', message: 'A growable SharedArrayBuffer could not be shared.' };
  const copy = { copy: true };
  const growable = new SharedArrayBuffer(8, { maxByteLength: 16 });
  // Some hosts have no growable ones.
  if (growable.growable) {
    for (const value of [growable, { inside: [growable] }, new Uint8Array(growable)]) {
      assert.throws(() => new ivm.ExternalCopy(value), refused);
      assert.throws(() => context.global.setSync('buffer', value, copy), refused);
      await assert.rejects(context.evalClosure('return 1', [value], { arguments: copy }), refused);
      assert.throws(() => new ivm.Reference(value).copySync(), refused);
    }
  }
  context.global.setSync('ivm', ivm);
  context.global.setSync('pass', new ivm.Reference(() => {}));
  context.global.setSync('call', () => {});
  context.evalSync('const growable = new SharedArrayBuffer(8, { maxByteLength: 16 })');
  const other = new ivm.Isolate().createContextSync();
  context.global.setSync('other', other.evalSync('() => {}', { reference: true }));
  for (const value of ['growable', '({ inside: [growable] })', 'new Uint8Array(growable)']) {
    assert.throws(() => context.evalSync(value, copy), refused);
    await assert.rejects(context.eval('Promise.resolve(' + value + ')', { ...copy, promise: true }), refused);
    for (const call of ['pass.applySync(undefined, [' + value + '], { arguments: { copy: true } })', 'call(' + value + ')',
      'other.applySync(undefined, [' + value + '], { arguments: { copy: true } })', 'new ivm.ExternalCopy(' + value + ')',
      'new ivm.Reference(' + value + ').copySync()']) {
      const caught = context.evalSync('try { ' + call + '; } catch ({ name, code, message }) { ({ name, code, message }) }', copy);
      assert.deepEqual(caught, refused, call);
    }
  }`));

test('a worker ends only after an unstoppable guest no longer uses its memory', () => passes(`
  const { Worker } = await import('node:worker_threads');
  // This loop stays in native code, takes no interrupt, and keeps reading the memory.
  const loop = "let o = new Uint8Array(buffer); for (let i = 0; i < 5; i++) o = Object.create(o);"
    + "Object.defineProperty(o, 'length', { value: 2 ** 53 - 1 }); Array.prototype.indexOf.call(o, 'x');";
  const code = 'const ivm = require(' + JSON.stringify(process.cwd() + '/index.js') + ');'
    + 'const isolate = new ivm.Isolate(); const context = isolate.createContextSync();'
    + 'context.global.setSync("buffer", new ivm.ExternalCopy(new SharedArrayBuffer(256 << 20)).copyInto());'
    + 'let start; context.global.setSync("started", new ivm.Callback(() => { start = isolate.cpuTime; }, { ignored: true }));'
    + 'context.evalIgnored(' + JSON.stringify('started(); ' + loop) + ');'
    // After some processor time, the guest is in the loop.
    + 'setInterval(() => { if (start !== undefined && isolate.cpuTime - start > 20_000_000n) require("node:worker_threads").parentPort.postMessage("running"); }, 5);';
  const worker = new Worker(code, { eval: true });
  await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
  await worker.terminate();
  const isOff = () => ivm.engineStats().lostThreads === 1 && ivm.engineStats().lostRunning === 0;
  // Deno does not wait for the worker's end.
  if (globalThis.Deno) await waitFor(isOff, 20_000);
  assert.ok(isOff(), JSON.stringify(ivm.engineStats()));
  // The memory is now unmapped: a guest that still ran would end the process.
  await sleep(1_000);
  assert.ok(isOff(), JSON.stringify(ivm.engineStats()));
  otherWorks();`, { timeout: 60_000 }));
