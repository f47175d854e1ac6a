// Large buffers that a host transfers: they keep their address, and the host no longer has access to them.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** Set TERMINATIONS=1000 for more (with `--limit 1200`, in seconds, for the suite). */
const TERMINATIONS = Number(process.env.TERMINATIONS ?? 6);

/** Buffers of more than 128 KiB. */
const MAKE = `
  const SIZE = 2 ** 20;
  const make = (value, size = SIZE) => new Uint8Array(size).fill(value).buffer;
  const tell = context.evalSync('(buffer, at) => new Uint8Array(buffer)[at]', { reference: true });
  const into = (copy, transferIn) => [copy.copyInto({ transferIn }), SIZE - 1];
`;

test('a buffer arrives whole, and is detached in the host', () => passes(`${MAKE}
  const buffer = make(7);
  const copy = new ivm.ExternalCopy(buffer, { transferOut: true });
  assert.equal(buffer.byteLength, 0);
  assert.throws(() => new Uint8Array(buffer), TypeError);
  assert.deepEqual(new Uint8Array(copy.copy()), new Uint8Array(SIZE).fill(7));
  assert.equal(tell.applySync(undefined, into(copy, true)), 7);
  assert.throws(() => copy.copy(), { message: 'Array buffer is invalid' });
  // Also with a view, and with buffers inside an object; and with listed ones that the value does not contain.
  const view = new Uint8Array(make(8));
  assert.deepEqual(new ivm.ExternalCopy(view, { transferOut: true }).copy(), new Uint8Array(SIZE).fill(8));
  const inside = make(9), aside = make(10);
  const both = new ivm.ExternalCopy({ inside, twice: [inside] }, { transferList: [inside, aside] });
  assert.deepEqual([view.length, inside.byteLength, aside.byteLength], [0, 0, 0]);
  const { inside: arrived, twice } = both.copy();
  assert.equal(twice[0], arrived);
  assert.deepEqual(new Uint8Array(arrived), new Uint8Array(SIZE).fill(9));`));

test('its copies are independent', () => passes(`${MAKE}
  const other = new ivm.Isolate().createContextSync();
  const write = '(buffer, value) => { const bytes = new Uint8Array(buffer); const before = bytes[5]; bytes.fill(value); return before; }';
  const [one, two] = [context, other].map((realm) => realm.evalSync(write, { reference: true }));
  const copy = new ivm.ExternalCopy(make(1), { transferOut: true });
  assert.equal(one.applySync(undefined, [copy.copyInto(), 2]), 1);
  assert.equal(two.applySync(undefined, [copy.copyInto(), 3]), 1);
  const mine = new Uint8Array(copy.copy());
  assert.equal(mine[5], 1);
  mine.fill(4);
  assert.equal(two.applySync(undefined, [copy.copyInto({ transferIn: true }), 5]), 1);
  // On to another isolate, and back.
  context.global.setSync('ivm', ivm);
  context.global.setSync('other', two);
  context.global.setSync('buffer', new ivm.ExternalCopy(make(6), { transferOut: true }).copyInto({ transferIn: true }));
  const passOn = 'const moved = new ivm.ExternalCopy(buffer, { transferOut: true }); '
    + '[buffer.byteLength, other.applySync(undefined, [moved.copyInto(), 0]), moved]';
  const before = context.evalSync(passOn + '.slice(0, 2).join()');
  assert.equal(before, '0,6');
  assert.equal(new Uint8Array(context.evalSync('moved').copy())[SIZE - 1], 6);`));

test('a host that moves buffers one after another in one turn holds no more memory than the guest', () => passes(`${MAKE}
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 40; i++) {
    const copy = new ivm.ExternalCopy(make(i, 16 * SIZE), { transferOut: true });
    assert.equal(tell.applySync(undefined, into(copy, true)), i % 256);
  }
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  // 640 MB in total.
  assert.ok(grown < 400, String(grown));`));

test('a discarded unread buffer is freed at once', () => passes(`${MAKE}
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 40; i++) new ivm.ExternalCopy(make(i, 16 * SIZE), { transferOut: true }).release();
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  assert.ok(grown < 400, String(grown));`));

test('it counts towards the memory limit', () => passes(`${MAKE}
  const small = new ivm.Isolate({ memoryLimit: 16 }).createContextSync();
  const copy = new ivm.ExternalCopy(make(1, 32 * SIZE), { transferOut: true });
  const keep = small.evalSync('(buffer) => buffer.byteLength', { reference: true });
  assert.throws(() => keep.applySync(undefined, [copy.copyInto({ transferIn: true })]), { name: 'RangeError', message: 'Array buffer allocation failed' });
  assert.equal(small.evalSync('1 + 1'), 2);`));

test('buffers whose memory the host keeps are refused, and stay intact', () => passes(`${MAKE}
  const { markAsUntransferable } = await import('node:worker_threads');
  const marked = [make(3, 100), make(3)];
  marked.forEach((buffer) => markAsUntransferable?.(buffer));
  const refused = { name: 'TypeError', code: 'ERR_ISOLATE_TRANSFER', message: 'An ArrayBuffer cannot be moved because the host keeps its memory. Copy it instead.' };
  const attempt = (buffer, always) => {
    const before = buffer.byteLength, other = make(4, 10);
    for (const move of [() => new ivm.ExternalCopy(buffer, { transferOut: true }), () => new ivm.ExternalCopy({ buffer }, { transferList: [other, buffer] })]) {
      let copy;
      try { copy = move(); } catch (error) {
        assert.deepEqual({ name: error.name, code: error.code, message: error.message }, refused);
        assert.equal(buffer.byteLength, before);
        continue;
      }
      assert.ok(!always, 'it was moved');
      assert.equal((copy.copy().buffer ?? copy.copy()).byteLength, before);
      return;
    }
  };
  const onNode = !process.versions.bun && !globalThis.Deno;
  for (const buffer of marked) attempt(buffer, onNode);
  attempt(Buffer.from('in the pool').buffer, onNode);
  attempt(new WebAssembly.Memory({ initial: 1 }).buffer, true);
  attempt(new WebAssembly.Memory({ initial: 4 }).buffer, true);
  assert.equal(Buffer.from('the pool works').toString(), 'the pool works');`));

test('buffers that a host would copy instead of moving are refused, and stay intact', () => passes(`${MAKE}
  // As Node 20 does with memory that it keeps.
  const clone = globalThis.structuredClone;
  globalThis.structuredClone = (value) => clone(value);
  const refused = { name: 'TypeError', code: 'ERR_ISOLATE_TRANSFER', message: 'An ArrayBuffer cannot be moved because the host keeps its memory. Copy it instead.' };
  const buffer = make(3);
  const moves = {
    buffer: () => new ivm.ExternalCopy(buffer, { transferOut: true }),
    view: () => new ivm.ExternalCopy(new Uint8Array(buffer), { transferOut: true }),
    inside: () => new ivm.ExternalCopy({ buffer }, { transferList: [buffer] }),
    aside: () => new ivm.ExternalCopy({}, { transferList: [buffer] }),
  };
  for (const [name, move] of Object.entries(moves)) {
    assert.throws(move, refused, name);
    assert.equal(buffer.byteLength, SIZE, name);
  }
  globalThis.structuredClone = clone;
  assert.equal(new Uint8Array(moves.buffer().copy())[SIZE - 1], 3);
  assert.equal(buffer.byteLength, 0);`));

test('a worker is terminated while guests write to its moved buffers, and while more are in transit', () => passes(`
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
    const give = (value) => new ivm.ExternalCopy(new Uint8Array(2 ** 20).fill(value).buffer, { transferOut: true });
    const writes = new ivm.Isolate().createContextSync();
    writes.global.setSync('buffer', give(1).copyInto({ transferIn: true }));
    writes.eval('const view = new Uint8Array(buffer); for (let i = 0; ; i++) view.fill(i);').catch(() => {});
    // Some are read in the guest's isolate, at any time.
    const reads = new ivm.Isolate().createContextSync();
    reads.global.setSync('copy', give(2));
    reads.eval('for (;;) new Uint8Array(copy.copy())[0];').catch(() => {});
    const takes = new ivm.Isolate().createContextSync();
    const take = takes.evalSync('(buffer) => new Uint8Array(buffer).fill(3)[0]', { reference: true });
    setInterval(() => { for (let i = 0; i < 5; i++) take.apply(undefined, [give(4).copyInto({ transferIn: true })]).catch(() => {}); }, 0);
    setTimeout(() => { parentPort.postMessage('busy'); }, 20);
  }`, { timeout: Math.max(200_000, TERMINATIONS * 1000) }));

if ('Bun' in globalThis) {
  test('a guest cannot write to a file that the host has mapped', () => passes(`${MAKE}
    const { mkdtempSync, readFileSync, rmSync, writeFileSync } = await import('node:fs');
    const { tmpdir } = await import('node:os');
    const folder = mkdtempSync(tmpdir() + '/isolated-v8-mapped-');
    const file = folder + '/file';
    writeFileSync(file, Buffer.alloc(SIZE, 1));
    const copy = new ivm.ExternalCopy(Bun.mmap(file).buffer, { transferOut: true });
    const fill = context.evalSync('(buffer) => new Uint8Array(buffer).fill(9)[0]', { reference: true });
    assert.equal(fill.applySync(undefined, [copy.copyInto({ transferIn: true })]), 9);
    assert.ok(readFileSync(file).every((byte) => byte === 1));
    rmSync(folder, { recursive: true });`));
}
