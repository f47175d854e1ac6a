// Memory of the host that guests use outside their heaps is bounded, and returned.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** The memory of this process in MiB, and its growth during some work. */
const MEASURE = `
  const resident = () => process.memoryUsage().rss / 2 ** 20;
  const BIG = "const big = 'x'.repeat(2 ** 20);";
`;

describe('messages in transit', () => {
  test('ignored calls of a busy host are bounded by the memory limit, and none is lost', () => passes(`${MEASURE}
    let length = 0;
    context.global.setSync('log', new ivm.Callback((text) => { length += text.length; }, { ignored: true }));
    const before = resident();
    const done = context.eval(BIG + 'for (let i = 0; i < 300; i++) log(big + i);');
    block(500);
    const growth = resident() - before;
    assert.ok(growth < 150, growth + ' MB');
    await done;
    const start = ms();
    while (length < 300 * 2 ** 20 && ms() - start < 10000) await sleep(5);
    assert.equal(Math.floor(length / 2 ** 20), 300);`, { options: '{ memoryLimit: 8 }' }));

  test('one that is larger than the limit is refused', () => passes(`
    context.global.setSync('log', new ivm.Callback(() => {}, { ignored: true }));
    const error = await errorOf(() => context.eval("log('x'.repeat(9 * 2 ** 20)); 0"));
    assert.equal(error.name, 'RangeError');
    assert.match(error.message, /Too many calls are waiting/);`, { options: '{ memoryLimit: 8 }' }));

  test('calls of a busy isolate are refused over the memory limit', () => passes(`${MEASURE}
    const other = new ivm.Isolate();
    const busy = other.createContextSync();
    const target = busy.evalSync('(text) => text.length', { reference: true });
    context.global.setSync('target', target);
    const endless = errorOf(() => busy.eval('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'));
    const before = resident();
    const message = context.evalSync(BIG + \`
      globalThis.refused = 0;
      for (let i = 0; i < 300; i++) target.apply(undefined, [big + i]).catch((error) => { refused += error instanceof RangeError; });
      let message = 'none';
      try {
        for (let i = 0; i < 300; i++) target.applyIgnored(undefined, [big + i]);
      } catch (error) { message = error.name + ': ' + error.message; }
      message\`);
    assert.equal(message, 'RangeError: Too many calls are waiting for an answer');
    assert.ok(context.evalSync('refused') > 250);
    const growth = resident() - before;
    assert.ok(growth < 150, growth + ' MB');
    other.dispose();
    await endless;`, { options: '{ memoryLimit: 8 }' }));

  test('results of another isolate are refused over the memory limit', () => passes(`${MEASURE}
    const other = new ivm.Isolate().createContextSync();
    context.global.setSync('target', other.evalSync(BIG + '() => big', { reference: true }));
    const before = resident();
    const outcomes = context.evalSync(\`
      globalThis.outcomes = { fulfilled: 0, refused: 0 };
      for (let i = 0; i < 300; i++) {
        target.apply(undefined, []).then(() => { outcomes.fulfilled++; }, (error) => { outcomes.refused += error instanceof RangeError; });
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);\`);
    const growth = resident() - before;
    assert.ok(growth < 150, growth + ' MB');
    const read = () => JSON.parse(context.evalSync('JSON.stringify(outcomes)'));
    while (read().fulfilled + read().refused < 300) await sleep(5);
    assert.ok(read().fulfilled > 0 && read().refused > 0, JSON.stringify(read()));`, { options: '{ memoryLimit: 8 }' }));

  test('a long string with a small representation is refused', () => passes(`${MEASURE}
    const before = resident();
    for (const code of ["'ab'.repeat(2 ** 28)", "'é€'.repeat(2 ** 27)", "[ 'ab'.repeat(2 ** 28) ]"]) {
      const error = await errorOf(() => context.eval(code, { copy: true }));
      assert.equal(error.name, 'RangeError');
    }
    const growth = resident() - before;
    assert.ok(growth < 150, growth + ' MB');
    assert.equal(context.evalSync('1 + 1'), 2);`, { options: '{ memoryLimit: 8 }' }));
});

describe('arguments of one call', () => {
  test('are bounded together', () => passes(`${MEASURE}
    const before = resident();
    let peak = 0;
    for (const how of [{ ignored: true }, { async: true }, {}]) {
      context.global.setSync('log', new ivm.Callback((...all) => { peak = Math.max(peak, resident()); }, how));
      const code = "const s = 'x'.repeat(2 ** 20); let message = 'none'; try { log(...Array(1000).fill(s)); } catch (error) { message = error.name } message";
      assert.equal(context.evalSync('(() => { ' + code.replace(/message$/, 'return message') + ' })()'), 'RangeError');
    }
    peak = Math.max(peak, resident());
    assert.ok(peak - before < 300, (peak - before) + ' MB');`, { options: '{ memoryLimit: 8 }' }));

  test('are counted for every type', () => passes(`${MEASURE}
    context.global.setSync('target', new ivm.Reference(() => {}));
    context.evalSync(BIG + 'function f() {} Object.defineProperty(f, "name", { value: big })');
    const progress = new Int32Array(new SharedArrayBuffer(4));
    context.global.setSync('buffer', new ivm.ExternalCopy(progress.buffer).copyInto());
    context.evalSync('const progress = new Int32Array(buffer)');
    for (const [args, options] of [
      ['[big + i]', '{ arguments: { externalCopy: true } }'],
      ['[Promise.resolve(big + i)]', '{ arguments: { promise: true, copy: true } }'],
      ['Array(100).fill(f)', '{}'],
      ['Array(60000).fill(1)', '{}'],
    ]) {
      const before = resident();
      const start = ms();
      Atomics.store(progress, 0, 0);
      const done = context.eval('(async () => { for (let i = 0; i < 400; i++) { try { target.applyIgnored(undefined, ' + args + ', ' + options + '); } catch {} Atomics.add(progress, 0, 1); await 0; } })(); 0', { timeout: 5000 });
      // This thread takes nothing meanwhile. The guest has made all calls or waits for this thread.
      let seen = 0;
      for (let same = 0; seen < 400 && (same < 20 || seen === 0) && ms() - start < 10_000;) {
        block(10);
        const now = Atomics.load(progress, 0);
        same = now === seen ? same + 1 : 0;
        seen = now;
      }
      assert.ok(seen > 0, args + ': ' + seen + ' calls');
      const growth = resident() - before;
      assert.ok(growth < 150, args + ': ' + growth + ' MB');
      await done.catch(() => {});
    }`, { options: '{ memoryLimit: 8 }', timeout: 40_000 }));
});

test('a rejected promise of a guest that the host does not handle ends nothing', () => passes(`
  context.global.setSync('target', new ivm.Reference(() => {}));
  const code = "target.applyIgnored(undefined, [Promise.reject(new Error('unseen'))], { arguments: { promise: true } }); 0";
  await context.eval(code).catch(() => {});
  await sleep(100);`));

describe('memory is released', () => {
  test('by functions of the host that a guest has dropped', () => passes(`${MEASURE}
    // Names are outside all heaps.
    const named = () => Object.defineProperty(() => {}, 'name', { value: 'n'.repeat(20_000) });
    const pass = async (count) => {
      for (let i = 0; i < count; i++) {
        context.global.setSync('f', named());
        // The host releases its own functions in turns of the event loop.
        if (i % 500 === 0) { gc(); await sleep(5); }
      }
    };
    await pass(2_000);
    const before = resident();
    await pass(20_000);
    const growth = resident() - before;
    assert.ok(growth < 150, growth + ' MB');`, { timeout: 60_000, collects: true }));

  test('by the packed values of a refused call', () => passes(`
    const gone = new FinalizationRegistry(() => { collected += 1; });
    let collected = 0;
    const value = () => { const made = () => made; gone.register(made, 0); return made; };
    const other = isolate.createContextSync();
    other.release();
    for (let i = 0; i < 20; i++) {
      assert.throws(() => context.evalClosureSync('1', [value(), Symbol()]), TypeError);
      assert.throws(() => context.global.applySync(undefined, [value(), Symbol()]), TypeError);
      assert.throws(() => new ivm.ExternalCopy({ r: new ivm.Reference(value()), s: Symbol() }), TypeError);
      await ivm.createSandbox({ f: value(), s: Symbol() }).execute('1');
    }
    const start = ms();
    while (collected < 80 * 0.9 && ms() - start < 10_000) { gc(); await sleep(10); }
    assert.ok(collected >= 80 * 0.9, String(collected));`, { collects: true }));

  test('by functions of the host in released contexts', () => passes(`
    let collected = 0;
    const gone = new FinalizationRegistry(() => { collected += 1; });
    for (let i = 0; i < 100; i++) {
      const realm = isolate.createContextSync();
      const made = () => made;
      gone.register(made, 0);
      realm.global.setSync('f', made);
      realm.evalSync('globalThis.used = f()');
      realm.release();
      if (i % 10 === 0) { gc(); await sleep(5); }
    }
    const start = ms();
    while (collected < 80 && ms() - start < 15_000) {
      gc();
      // Objects that survive for a while cause V8 to collect everything.
      context.evalSync('{ const kept = []; for (let i = 0; i < 300; i++) kept.push(new Array(10000).fill(i + 0.5)); }');
      await sleep(10);
    }
    assert.ok(collected >= 80, String(collected));`, { collects: true, options: '{ memoryLimit: 64 }', timeout: 40_000 }));

  test('by isolates with references to their own values', () => passes(`${MEASURE}
    const make = async (count) => {
      for (let i = 0; i < count; i++) {
        const own = new ivm.Isolate({ memoryLimit: 32 });
        const realm = own.createContextSync();
        realm.evalSync("globalThis.block = new Array(2 ** 19).fill(0.5)");
        realm.global.setSync('object', realm.evalSync('({})', { reference: true }));
        realm.global.setSync('realm', realm);
        realm.global.setSync('own', own);
        realm.global.setSync('script', own.compileScriptSync('1'));
        // Wrappers are collected between turns of the event loop.
        if (i % 10 === 0) { gc(); await sleep(20); }
      }
    };
    await make(20);
    const before = resident();
    await make(60);
    const growth = resident() - before;
    // 4 MB of each isolate, if it stays.
    assert.ok(growth < 120, growth + ' MB');`, { timeout: 60_000, collects: true }));

  test('by isolates with a promise that never settles', () => passes(`${MEASURE}
    const make = async (count) => {
      for (let i = 0; i < count; i++) {
        const own = new ivm.Isolate({ memoryLimit: 8 });
        const error = await errorOf(() => own.createContextSync().eval('new Promise(() => {})', { promise: true, deadline: 2 }));
        assert.equal(error.code, 'ERR_ISOLATE_DEADLINE');
        if (i % 20 === 0) { gc(); await sleep(5); }
      }
    };
    await make(60);
    const before = resident();
    await make(120);
    const growth = resident() - before;
    // 1.5 MB of each isolate, if it stays.
    assert.ok(growth < 100, growth + ' MB');`, { timeout: 60_000, collects: true }));

  test('by timers of deadlines that were not reached', () => passes(`${MEASURE}
    const calls = (count) => { for (let i = 0; i < count; i++) context.evalSync('1', { deadline: 600_000 }); };
    calls(100_000);
    const before = resident();
    calls(400_000);
    const growth = resident() - before;
    assert.ok(growth < 40, growth + ' MB');`, { timeout: 60_000 }));
});

test('a reference to an own value stays valid when it is passed on', () => passes(`
  context.global.setSync('own', context.evalSync('globalThis.object = { a: 1 }; object', { reference: true }));
  assert.equal(context.evalSync('own.deref() === object'), true);
  const back = context.evalSync('own', { reference: false });
  assert.equal(back.getSync('a'), 1);
  context.evalSync('own.release()');
  assert.equal(back.getSync('a'), 1);
  context.global.setSync('realm', context);
  const again = context.evalSync('realm');
  assert.equal(again.evalSync('object.a'), 1);
  assert.equal(again.global.getSync('object').getSync('a'), 1);`));

describe('shared memory', () => {
  test('a growable buffer is refused', () => passes(`
    const other = new ivm.Isolate().createContextSync();
    context.global.setSync('length', other.evalSync('(buffer) => buffer.byteLength', { reference: true }));
    const call = (code) => context.evalSync('length.applySync(undefined, [' + code + '], { arguments: { copy: true } })');
    assert.equal(call('new SharedArrayBuffer(8)'), 8);
    assert.equal(call('new SharedArrayBuffer(0)'), 0);
    const error = syncError(() => call('new SharedArrayBuffer(8, { maxByteLength: 16 })'));
    assert.match(error.message, /growable SharedArrayBuffer could not be shared/);`));
});

describe('resizable buffers, whose number in a process is limited', () => {
  const MANY = "Array.from({ length: 1000 }, () => new ArrayBuffer(8, { maxByteLength: 65536 }))";

  test('buffers that a host keeps', () => passes(`
    const kept = [];
    const refused = [];
    for (let i = 0; i < 12; i++) {
      const other = new ivm.Isolate({ memoryLimit: 16 });
      try {
        kept.push(await other.createContextSync().eval(${JSON.stringify(MANY)}, { copy: true }));
      } catch (error) {
        refused.push(error);
      }
      other.dispose();
    }
    assert.equal(kept.length, 4);
    for (const error of refused) assert.match(error.message, /more resizable buffers than a host has room for/);
    assert.equal(context.evalSync('1 + 1'), 2);`, { timeout: 60_000 }));

  test('guests that hold all of them do not affect others', () => passes(`
    const hoarders = [];
    for (let i = 0; i < 17; i++) {
      const hoarder = new ivm.Isolate({ memoryLimit: 16 });
      hoarders.push(hoarder);
      await hoarder.createContextSync().eval("globalThis.kept = []; try { for (;;) kept.push(new ArrayBuffer(8, { maxByteLength: 65536 })); } catch {}");
    }
    const wasm = 'new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,10,4,1,2,0,11])); 1';
    const sandbox = ivm.createSandbox({});
    for (let i = 0; i < 20; i++) {
      const other = new ivm.Isolate();
      assert.equal(other.createContextSync().evalSync(wasm), 1);
      other.dispose();
      const { error, result } = await sandbox.execute("let n = 0; for (let i = 0; i < 2e4; i++) n += /^(?:a|b)+c/.test('ababc' + i); return n;");
      assert.equal(error ?? result, 20_000);
    }
    assert.equal(context.evalSync(wasm), 1);`, { timeout: 100_000 }));
});
