// A SharedArrayBuffer of a guest on its host: shared if the host can wrap foreign memory, otherwise refused.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { host, root, run } from '../../harness.mjs';
import { coded, passes } from '../../isolate/helper.mjs';
import ivm from '../../../index.mjs';

/** Hosts with `node_api_create_external_sharedarraybuffer`. */
const shares = ['node22', 'node24', 'node26', 'bun'].includes(host);

const HELP = `
  const { Worker } = await import('node:worker_threads');
  const copy = { copy: true };
  /** Collects until \`done\` returns true; for events that must happen. */
  const collectUntil = async (done) => {
    for (let i = 0; i < 500 && !(await done()); i++) { gc(); await sleep(10); }
    assert.ok(await done());
  };
  const collect = async () => { for (let i = 0; i < 10; i++) { gc(); await sleep(5); } };
  /** A worker that keeps what it is sent, and follows instructions. */
  const holder = () => {
    const worker = new Worker(\`
      const { parentPort } = require('node:worker_threads');
      const collectNow = () => (globalThis.Bun ? Bun.gc(true) : globalThis.gc());
      let held;
      const orders = {
        keep(buffer) { held = buffer; return buffer.byteLength; },
        add(count) { return Atomics.add(new Int32Array(held), 0, count); },
        give() { return held; },
        drop() { held = undefined; },
        async collect() { for (let i = 0; i < 10; i++) { collectNow(); await new Promise((resolve) => { setTimeout(resolve, 5); }); } },
      };
      parentPort.on('message', async ([order, arg]) => { parentPort.postMessage([await orders[order](arg)]); });
    \`, { eval: true });
    return {
      ask: (order, arg) => new Promise((resolve) => {
        worker.once('message', ([answer]) => resolve(answer));
        worker.postMessage([order, arg]);
      }),
      end: () => worker.terminate(),
    };
  };
`;
const program = (code, settings) => passes(`${HELP}${code}`, { timeout: 60_000, collects: true, ...settings });

const ADVICE = 'make it in the host and pass it in, or copy what is in it';
const refusal = coded('UNSUPPORTED', `A SharedArrayBuffer made inside an isolate cannot be shared with this host, which lacks \`node_api_create_external_sharedarraybuffer\`: ${ADVICE}`);

describe('a SharedArrayBuffer of a guest, on any host', () => {
  const isolate = new ivm.Isolate();
  const context = isolate.createContextSync();
  context.evalSync('globalThis.own = new Int32Array(new SharedArrayBuffer(16))');

  test('an empty one is transferred', () => {
    const empty = context.evalSync('[new SharedArrayBuffer(0)]', { copy: true })[0];
    assert.ok(empty instanceof SharedArrayBuffer);
    assert.equal(empty.byteLength, 0);
  });

  test('a growable one is rejected', () => {
    assert.throws(() => context.evalSync('new SharedArrayBuffer(8, { maxByteLength: 16 })', { copy: true }), { message: 'A growable SharedArrayBuffer could not be shared.' });
  });

  test('the buffer of a WebAssembly.Memory is rejected, as is the memory', () => passes(`
    context.evalSync('const memory = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true }); const none = new WebAssembly.Memory({ initial: 0, maximum: 0, shared: true })');
    const there = new ivm.Isolate().createContextSync();
    there.evalSync('globalThis.take = (value) => { throw new Error("arrived"); }');
    const take = there.global.getSync('take', { reference: true });
    context.global.setSync('take', take);
    context.global.setSync('call', new ivm.Callback(() => assert.fail('called')));
    for (const value of ['memory', 'memory.buffer', 'none', 'none.buffer', '[new Uint8Array(memory.buffer)]', '[memory.buffer, memory]', '{ deep: [memory, 1] }']) {
      const refused = { name: 'TypeError', message: 'A SharedArrayBuffer of WebAssembly could not be shared.', code: 'ERR_ISOLATE_TRANSFER' };
      assert.throws(() => context.evalSync('(' + value + ')', { copy: true }), refused);
      assert.throws(() => context.evalSync('(' + value + ')', { externalCopy: true }), refused);
      for (const code of ['call(' + value + ')', 'take.applySync(undefined, [' + value + '], { arguments: { copy: true } })']) {
        assert.equal(context.evalSync('try { ' + code + '; } catch (error) { error.message }'), refused.message);
      }
    }
    assert.equal(context.evalSync('memory.grow(1); new Uint8Array(memory.buffer).length'), 2 ** 17);`));

  test('is rejected where the host cannot wrap it', { skip: shares }, async () => {
    assert.throws(() => context.evalSync('own.buffer', { copy: true }), refusal);
    assert.throws(() => context.evalSync('({ deep: [own] })', { copy: true }), refusal);
    await assert.rejects(context.eval('own', { copy: true }), refusal);
    await assert.rejects(context.eval('Promise.resolve(own)', { copy: true, promise: true }), refusal);
    assert.throws(() => context.evalSync('own', { externalCopy: true }).copy(), refusal);
    context.global.setSync('call', new ivm.Callback(() => assert.fail('called')));
    assert.match(context.evalSync('try { call(own); } catch (error) { error.message }'), /cannot be shared with this host/);
    assert.equal(context.evalSync('own.length'), 4);
  });
});

// Electron has the function, but refuses what it is for. A host without it behaves the same.
test('in Electron the error names the reason', { skip: (shares || host === 'deno') && 'a host without the function represents Electron' }, async () => {
  const { code, stdout, stderr } = await run(`
    Object.defineProperty(process, 'versions', { value: { ...process.versions, electron: '40.0.0' } });
    const ivm = require(${JSON.stringify(join(root, 'index.js'))});
    const context = new ivm.Isolate().createContextSync();
    try { context.evalSync('new SharedArrayBuffer(8)', { copy: true }); } catch (error) { console.log(error.code, error.message); }
    const bytes = context.evalSync('new Uint8Array(8).fill(7)', { copy: true });
    console.log(bytes.join());
  `, { bare: true, commonjs: true });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.equal(stdout, 'ERR_ISOLATE_UNSUPPORTED A SharedArrayBuffer made inside an isolate cannot be shared with this host, '
    + `for Electron forbids external buffers: ${ADVICE}\n7,7,7,7,7,7,7,7\n`);
});

describe('a SharedArrayBuffer of a guest', { skip: !shares }, () => {
  test('is the same memory on both sides, and the same object each time', () => program(`
    context.evalSync('globalThis.own = new Int32Array(new SharedArrayBuffer(16)); own[0] = 5');
    const buffer = context.evalSync('own.buffer', copy);
    const here = new Int32Array(buffer);
    assert.ok(buffer instanceof SharedArrayBuffer);
    assert.deepEqual([buffer.byteLength, here[0]], [16, 5]);
    here[1] = 6;
    assert.equal(context.evalSync('own[2] = 7; own[1]'), 6);
    assert.equal(here[2], 7);
    const views = context.evalSync('({ deep: [own, new Uint8Array(own.buffer, 4, 4)] })', copy).deep;
    assert.deepEqual(views.map((view) => view.buffer === buffer), [true, true]);
    assert.deepEqual([...views[1]], [6, 0, 0, 0]);
    assert.equal((await context.eval('own', copy)).buffer, buffer);
    assert.equal(context.evalSync('own', { externalCopy: true }).copy().buffer, buffer);
    let called;
    context.global.setSync('call', new ivm.Callback((given) => { called = given; return given; }));
    assert.equal(context.evalSync('const back = new Int32Array(call(own.buffer)); back[3] = 8; own[3]'), 8);
    assert.equal(called, buffer);
    // Another one of the same guest is a different object.
    assert.notEqual(context.evalSync('new SharedArrayBuffer(16)', copy), buffer);`));

  test('can be passed back, and to other isolates', () => program(`
    const buffer = context.evalSync('globalThis.own = new Int32Array(new SharedArrayBuffer(16)); own.buffer', copy);
    context.evalClosureSync('globalThis.again = new Int32Array($0)', [buffer], { arguments: copy });
    assert.equal(context.evalSync('again[0] = 1; own[0]'), 1);
    const other = new ivm.Isolate();
    const there = other.createContextSync();
    there.evalClosureSync('globalThis.there = new Int32Array($0.deep)', [{ deep: buffer }], { arguments: copy });
    there.evalSync('there[1] = 2');
    assert.deepEqual([context.evalSync('own[1]'), new Int32Array(buffer)[1]], [2, 2]);
    assert.equal(there.evalSync('there', copy).buffer, buffer);
    assert.equal(context.evalSync('again', copy).buffer, buffer);
    isolate.dispose();
    there.evalSync('there[2] = 3');
    assert.equal(new Int32Array(buffer)[2], 3);
    other.dispose();
    assert.equal(new Int32Array(buffer)[2], 3);`));

  test('outlives its isolate as long as it is referenced', () => program(`
    const worker = holder();
    let buffer = context.evalSync('new Int32Array(new SharedArrayBuffer(2 ** 20)).fill(7).buffer', copy);
    assert.equal(await worker.ask('keep', buffer), 2 ** 20);
    isolate.dispose();
    buffer = undefined;
    await collect();
    // Anything that gets freed memory now writes to it.
    const others = Array.from({ length: 20 }, () => new Uint8Array(2 ** 20).fill(1));
    assert.deepEqual([await worker.ask('add', 1), await worker.ask('add', 1)], [7, 8]);
    const back = new Int32Array(await worker.ask('give'));
    await worker.end();
    await collect();
    assert.deepEqual([back[0], back[1], back.at(-1), others[19][0]], [9, 7, 7, 1]);
    // The memory is identified by its address, in this environment and in the worker's.
    const other = new ivm.Isolate().createContextSync();
    other.evalClosureSync('globalThis.there = new Int32Array($0); there[1] = 10', [back.buffer], { arguments: copy });
    assert.equal(back[1], 10);
    assert.equal(other.evalSync('there', copy).buffer, back.buffer);`));

  test('is charged to its guest until the last reference is released', () => program(`
    const worker = holder();
    // V8 collects before it refuses, so memory that the guest itself has dropped does not count.
    const hasRoom = () => context.evalSync('try { new SharedArrayBuffer(10 * 2 ** 20).byteLength > 0; } catch (error) { if (error.name !== "RangeError") throw error; false; }');
    assert.equal(hasRoom(), true);
    assert.equal(hasRoom(), true);
    await (async () => { await worker.ask('keep', context.evalSync('new SharedArrayBuffer(10 * 2 ** 20)', copy)); })();
    const other = new ivm.Isolate();
    const there = other.createContextSync();
    await (async () => { there.evalClosureSync('globalThis.there = new Int32Array($0); there[0] = 1', [await worker.ask('give')], { arguments: copy }); })();
    await collect();
    assert.equal(hasRoom(), false);
    assert.equal(await worker.ask('add', 1), 1);
    await worker.ask('drop');
    await worker.ask('collect');
    await collect();
    // The other guest still has it.
    assert.equal(hasRoom(), false);
    assert.equal(there.evalSync('there[0]'), 2);
    other.dispose();
    await collectUntil(async () => { await worker.ask('collect'); return hasRoom(); });
    await worker.end();`, { options: '{ memoryLimit: 16 }' }));

  test('a guest cannot allocate more of it than its limit, wherever it is referenced', () => program(`
    const held = [];
    context.global.setSync('call', new ivm.Callback((buffer) => { held.push(buffer); }));
    const error = syncError(() => context.evalSync('for (;;) call(new SharedArrayBuffer(2 ** 20))'));
    assert.equal(error.name, 'RangeError');
    assert.ok(held.length > 10 && held.length <= 16, String(held.length));
    assert.equal(isolate.isDisposed, false);
    assert.equal(context.evalSync('try { new SharedArrayBuffer(2 ** 20); } catch (error) { error.name }'), 'RangeError');
    held.length = 0;
    await collectUntil(() => { try { return context.evalSync('new SharedArrayBuffer(2 ** 20).byteLength') > 0; } catch { return false; } });`, { options: '{ memoryLimit: 16 }' }));

  test('wakes a waiting guest, from the host and from another isolate', () => program(`
    const view = new Int32Array(context.evalSync('globalThis.own = new Int32Array(new SharedArrayBuffer(16)); own.buffer', copy));
    const waiting = () => {
      view.fill(0);
      return context.eval('Atomics.store(own, 1, 1); Atomics.wait(own, 0, 0)');
    };
    const first = waiting();
    while (Atomics.load(view, 1) === 0) await sleep(1);
    Atomics.store(view, 0, 1);
    Atomics.notify(view, 0);
    assert.match(await first, /^(ok|not-equal)$/);
    const there = new ivm.Isolate().createContextSync();
    there.evalClosureSync('globalThis.there = new Int32Array($0)', [view.buffer], { arguments: copy });
    // Two guests share one engine: no store is needed.
    const second = waiting();
    assert.equal(await there.eval('let count = 0; while (count === 0) count = Atomics.notify(there, 0, 1); count'), 1);
    assert.equal(await second, 'ok');`));

  test('a waiting host sees the guest\'s stores, but a guest cannot wake it', () => program(`
    const view = new Int32Array(context.evalSync('globalThis.own = new Int32Array(new SharedArrayBuffer(16)); own.buffer', copy));
    const storing = context.eval('Atomics.store(own, 0, 1); Atomics.notify(own, 0)');
    let outcome;
    while ((outcome = Atomics.wait(view, 0, 0, 5)) === 'timed-out');
    assert.deepEqual([outcome, Atomics.load(view, 0), await storing], ['not-equal', 1, 0]);`));

  test('many buffers of many isolates pass in both directions', () => program(`
    for (let round = 0; round < 40; round++) {
      const guest = new ivm.Isolate({ memoryLimit: 16 });
      const realm = guest.createContextSync();
      const buffers = realm.evalSync('Array.from({ length: 50 }, (_, i) => new Int32Array(new SharedArrayBuffer(4096)).fill(i).buffer)', copy);
      const back = realm.evalClosureSync('globalThis.kept = $0; return $0', [buffers], { arguments: copy, result: copy });
      back.forEach((buffer, i) => { assert.equal(buffer, buffers[i]); });
      if (round % 2 === 0) guest.dispose();
      assert.deepEqual(back.map((buffer) => new Int32Array(buffer)[1023]), Array.from({ length: 50 }, (_, i) => i));
      if (round % 10 === 0) gc();
    }`));

  test('workers are terminated while guests write to it, and transferred buffers stay valid', () => program(`
    const { isMainThread, parentPort } = await import('node:worker_threads');
    if (isMainThread) {
      for (let i = 0; i < 15; i++) {
        const worker = new Worker(new URL(import.meta.url));
        const buffer = await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
        await worker.terminate();
        const view = new Int32Array(buffer);
        const last = Atomics.load(view, 0);
        assert.ok(last > 0);
        // The guest has ended with its environment, or is about to.
        let now = last;
        for (let until = ms() + 5000; ms() < until;) {
          now = Atomics.load(view, 0);
          await sleep(5);
          if (Atomics.load(view, 0) === now) break;
        }
        assert.equal(Atomics.load(view, 0), now);
        view.fill(1);
      }
    } else {
      const buffer = context.evalSync('globalThis.own = new Int32Array(new SharedArrayBuffer(2 ** 20)); own.buffer', copy);
      context.eval('for (;;) Atomics.add(own, 0, 1)').catch(() => {});
      while (Atomics.load(new Int32Array(buffer), 0) === 0);
      parentPort.postMessage(buffer);
      setInterval(() => {}, 1000);
    }`));

  test("the host's garbage collector is notified of it", () => program(`
    let count = 0;
    context.global.setSync('call', new ivm.Callback(() => { count += 1; }));
    context.evalSync('for (let i = 0; i < 2000; i++) call(new SharedArrayBuffer(2 ** 20))');
    assert.equal(count, 2000);`, { options: '{ memoryLimit: 512 }' }));
});
