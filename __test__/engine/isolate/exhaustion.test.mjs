// Memory outside V8's heap: whatever a guest takes there, its host grows no further than the limit plus what V8 needs to notice, and other
// isolates keep working.

import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { entry, host } from '../../harness.mjs';
import { passes } from '../../isolate/helper.mjs';

const MEMORY = 'ERR_ISOLATE_MEMORY Isolate was disposed during execution due to memory limit';

/** Measures this process, in MB, and calls in these ways. */
const METER = `
  const { readFileSync } = await import('node:fs');
  const status = (name) => Number(new RegExp(name + ':\\\\s+(\\\\d+)').exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  const maps = () => readFileSync('/proc/self/maps', 'utf8').split('\\n').length;
  const say = (error) => (error.code ?? error.name) + ' ' + error.message;
  const neighbour = new ivm.Isolate().createContextSync();
  const outcomes = async (code, limit, modes) => {
    const result = [];
    for (const mode of modes) {
      const one = new ivm.Isolate({ memoryLimit: limit });
      const within = one.createContextSync();
      const interval = setInterval(() => { assert.equal(neighbour.evalSync('1'), 1); }, 50);
      try { result.push(await within[mode](code, { timeout: 20_000 })); } catch (error) { result.push(say(error)); }
      clearInterval(interval);
      try { one.dispose(); } catch { /* it is gone */ }
    }
    return result;
  };
  neighbour.evalSync('1');
  const before = status('VmRSS');
  const grown = () => status('VmHWM') - before;`.replaceAll(/\n\s*/g, '\n');

/** A guest that reports how many values it has kept and what has stopped it. */
const until = (body) => `(() => { const kept = []; try { ${body} } catch (error) { return (kept.length > 0) + ' ' + error.name + ': ' + error.message } return 'all' })()`;

/** It runs in both ways one after the other at the first limit, and once at the others. `max` is the permitted growth of the process in MB, given the limit. */
function guest(name, code, expected, { max = (limit) => limit + 64, limits = [8, 128] } = {}) {
  for (const limit of limits) {
    const modes = limit === limits[0] ? ['eval', 'evalSync'] : ['eval'];
    test(`${name}, at ${limit} MB`, () => passes(`${METER}
      const expected = ${expected instanceof RegExp ? expected : JSON.stringify(expected)};
      for (const outcome of await outcomes(${JSON.stringify(code)}, ${limit}, ${JSON.stringify(modes)})) {
        if (expected instanceof RegExp) assert.match(String(outcome), expected);
        else assert.equal(outcome, expected);
      }
      assert.ok(grown() < ${max(limit)}, grown() + ' MB more');
      assert.ok(maps() < 10_000, maps() + ' parts of the address space');
      assert.equal(neighbour.evalSync('6 * 7'), 42);
      otherWorks();`, { timeout: 60_000 }));
  }
}

describe('growable buffers count as buffers', () => {
  const RESIZE = 'RangeError: ArrayBuffer.prototype.resize: Out of memory';
  const GROW = 'RangeError: SharedArrayBuffer.prototype.grow: Out of memory';
  const ALLOCATE = 'RangeError: Array buffer allocation failed';

  guest('resized at once', until('for (;;) { const b = new ArrayBuffer(0, { maxByteLength: 2 ** 30 }); b.resize(2 ** 30); new Uint8Array(b).fill(1); kept.push(b); }'), `false ${RESIZE}`);
  guest('resized in steps', until('for (;;) { const b = new ArrayBuffer(0, { maxByteLength: 2 ** 22 }); for (let k = 1; k <= 4; k += 1) { b.resize(k * 2 ** 20); new Uint8Array(b).fill(1); } kept.push(b); }'), `true ${RESIZE}`);
  guest('made large', until('for (;;) { const b = new ArrayBuffer(2 ** 20, { maxByteLength: 2 ** 26 }); new Uint8Array(b).fill(1); kept.push(b); }'), `true ${ALLOCATE}`);
  guest('shared', until('for (;;) { const b = new SharedArrayBuffer(0, { maxByteLength: 2 ** 22 }); kept.push(b); b.grow(2 ** 22); new Uint8Array(b).fill(1); }'), `true ${GROW}`);
  guest('shrunk and grown again', until('const b = new ArrayBuffer(0, { maxByteLength: 2 ** 22 }); for (let k = 0; k < 50; k += 1) { b.resize(2 ** 22); new Uint8Array(b).fill(1); b.resize(0); } kept.push(new Uint8Array(2 ** 22));'), 'all');
  guest('shrunk by the hundred', until('for (let k = 0; k < 100; k += 1) { const b = new ArrayBuffer(0, { maxByteLength: 2 ** 22 }); b.resize(2 ** 22); new Uint8Array(b).fill(1); b.resize(0); kept.push(b); }'), 'all');
  guest('without references', until('for (let k = 0; k < 150; k += 1) { const b = new ArrayBuffer(0, { maxByteLength: 2 ** 20 }); b.resize(2 ** 20); new Uint8Array(b).fill(1); const s = new SharedArrayBuffer(0, { maxByteLength: 2 ** 20 }); s.grow(2 ** 20); new Uint8Array(s).fill(1) }'), 'all');
  guest('released as soon as they are created', until('for (let k = 0; k < 60; k += 1) new ArrayBuffer(0, { maxByteLength: 2 ** 23 }).resize(6 * 2 ** 20);'), 'all');
  guest('transferred', until('for (;;) { const b = new ArrayBuffer(2 ** 20, { maxByteLength: 2 ** 22 }); new Uint8Array(b).fill(1); kept.push(b.transfer(), new ArrayBuffer(8, { maxByteLength: 2 ** 22 }).transfer(2 ** 22)) }'), /RangeError: Array(Buffer.prototype.transfer: Out of memory| buffer allocation failed)$/);
});

describe('WebAssembly memory counts as buffers', () => {
  const REFUSED = 'RangeError: WebAssembly.Memory(): could not allocate memory';

  guest('kept', until('for (;;) { const m = new WebAssembly.Memory({ initial: 16 }); new Uint8Array(m.buffer).fill(1); kept.push(m) }'), `true ${REFUSED}`);
  guest('shared', until('for (;;) { const m = new WebAssembly.Memory({ initial: 16, maximum: 65536, shared: true }); new Uint8Array(m.buffer).fill(1); kept.push(m) }'), `true ${REFUSED}`);
  guest('with 64 bits', until("for (;;) { const m = new WebAssembly.Memory({ initial: 16n, maximum: 65536n, address: 'i64' }); new Uint8Array(m.buffer).fill(1); kept.push(m) }"), `true ${REFUSED}`);
  guest('grown', until('const m = new WebAssembly.Memory({ initial: 1 }); for (;;) { m.grow(16); new Uint8Array(m.buffer).fill(1) }'), 'false RangeError: WebAssembly.Memory.grow(): Unable to grow instance memory');
  guest('without references', until('for (let k = 0; k < 200; k += 1) { const m = new WebAssembly.Memory({ initial: 16 }); new Uint8Array(m.buffer).fill(1) }'), 'all');
  guest('tables', until("for (;;) kept.push(new WebAssembly.Table({ initial: 1e6, element: 'anyfunc' }))"), MEMORY, { max: (limit) => limit * 2 + 160 });

  test('a guest can have more than 64 MB in one memory if its limit allows', () => passes(`
    const code = 'const m = new WebAssembly.Memory({ initial: 1 }); m.grow(1600); new Uint8Array(m.buffer).fill(7); m.buffer.byteLength';
    assert.equal(context.evalSync(code), 1601 * 65536);`, { options: '{ memoryLimit: 128 }' }));

  test('the memory of an isolate is freed when it ends', () => passes(`${METER}
    for (let k = 0; k < 15; k += 1) {
      const one = new ivm.Isolate({ memoryLimit: 64 });
      const code = 'globalThis.m = new WebAssembly.Memory({ initial: 800 }); new Uint8Array(m.buffer).fill(7); m.buffer.byteLength';
      assert.equal(one.createContextSync().evalSync(code), 800 * 65536);
      one.dispose();
    }
    assert.ok(grown() < 400, grown() + ' MB more');`));
});

describe('address space', () => {
  const KEPT = /^(true RangeError: (Array buffer allocation failed|WebAssembly.Memory\(\): could not allocate memory)|all)$/;

  guest('for resizable buffers, kept', until('for (let k = 0; k < 10_000; k += 1) kept.push(new ArrayBuffer(0, { maxByteLength: 2 ** 32 }))'), KEPT);
  guest('for resizable buffers, dropped', until('for (let k = 0; k < 10_000; k += 1) new ArrayBuffer(0, { maxByteLength: 2 ** 32 })'), 'all');
  guest('for small ones, kept', until('for (let k = 0; k < 50_000; k += 1) kept.push(new ArrayBuffer(1, { maxByteLength: 2 }))'), KEPT);
  guest('for WebAssembly memories, kept', until('for (let k = 0; k < 10_000; k += 1) kept.push(new WebAssembly.Memory({ initial: 0, maximum: 65536 }))'), KEPT);
  guest('for WebAssembly memories, dropped', until('for (let k = 0; k < 1_000; k += 1) new WebAssembly.Memory({ initial: 0, maximum: 65536 })'), 'all');

  test('stays available to other isolates', () => passes(`${METER}
    const kept = [];
    for (let k = 0; k < 10; k += 1) {
      const one = new ivm.Isolate({ memoryLimit: 8 }).createContextSync();
      one.evalSync(${JSON.stringify(until('for (;;) kept.push(new ArrayBuffer(0, { maxByteLength: 2 ** 32 }))').replace('const kept', 'kept'))}.replace('kept', 'globalThis.kept'));
      kept.push(one);
    }
    assert.ok(status('VmSize') < 9 * 2 ** 20, status('VmSize') + ' MB');
    assert.equal(neighbour.evalSync('new ArrayBuffer(8, { maxByteLength: 2 ** 32 }).byteLength + new WebAssembly.Memory({ initial: 1 }).buffer.byteLength'), 65544);
    otherWorks();`));

  test('creating an isolate without address space throws, and the process continues', { skip: !host.startsWith('node') }, () => passes(`
    const { execFileSync } = await import('node:child_process');
    const program = \`
      const ivm = require(\${JSON.stringify(${JSON.stringify(entry)})});
      let error;
      try { new ivm.Isolate().createContextSync().evalSync('1') } catch (e) { error = e }
      console.log(error?.code, error?.message);\`;
    const out = execFileSync('sh', ['-c', 'ulimit -v 30000000; exec "$0" -e "$1"', process.execPath, program], { encoding: 'utf8' });
    assert.equal(out.trim(), ${JSON.stringify(MEMORY)});`));
});

describe('parts of the address space', () => {
  const LIMIT = '/proc/sys/vm/max_map_count';
  const max = existsSync(LIMIT) ? Number(readFileSync(LIMIT, 'utf8')) : Infinity;
  const skip = (!host.startsWith('node') || host === 'node20') ? true : max >= 100_000 && 'this system gives a process too many to use up';
  // Each such buffer of the host's is two of the 65,530 memory mappings that a process may have on Linux.
  for (const [when, before, left] of [['at first', 0, 3_000], ['after a hundred isolates have come and gone', 100, 500]]) {
    test(`when few are left ${when} creating an isolate throws, and the process continues`, { skip }, () => passes(`${METER}
      const make = () => { const one = new ivm.Isolate({ memoryLimit: 8, warm: 0 }); return [one, one.createContextSync()]; };
      const { alive } = ivm.engineStats();
      const gone = Array.from({ length: ${before} }, make);
      for (const [one] of gone) one.dispose();
      while (ivm.engineStats().alive > alive) await new Promise((resolve) => setTimeout(resolve, 10));
      const hold = [];
      const free = () => ${max - left} - maps();
      for (let some = free(); some > 0; some = free()) for (let k = 0; k < some / 4 + 1; k += 1) hold.push(new ArrayBuffer(4096, { maxByteLength: 8192 }));
      const kept = [];
      let refused;
      for (let k = 0; k < 1_000 && refused === undefined; k += 1) {
        try { kept.push(make()); } catch (error) { refused = say(error); }
      }
      assert.equal(refused, ${JSON.stringify(MEMORY)});
      assert.equal(neighbour.evalSync('6 * 7'), 42);
      hold.length = 0;
      for (const [one] of kept) one.dispose();`, { timeout: 60_000 }));
  }
});

describe('WebAssembly that V8 must not refuse', () => {
  /** Calls a function of the guest's that suspends. */
  const suspending = (promise, calls) => `void (async () => {
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 109, 1, 102, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 103, 0, 1, 10, 6, 1, 4, 0, 16, 0, 11]);
    const f = new WebAssembly.Suspending(() => ${promise});
    const g = WebAssembly.promising(new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { f } }).exports.g);
    ${calls}
  })()`;
  const modules = (end, keep) => until(`const leb = (v) => { const r = []; do { const b = v & 127; v >>>= 7; r.push(v ? b | 128 : b) } while (v); return r };
    for (let k = 0; ${end}; k += 1) { const t = leb(k + 1e6); const i = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 103, 0, 0, 10, 4, 1, 2, 0, 11, 0, 5 + t.length, 4, 110, 110, 110, 110, ...t]))); i.exports.g(); ${keep} }`);

  guest('unbounded stacks', suspending('new Promise(() => {})', 'for (;;) g()'), MEMORY, { limits: [8, 2000], max: () => 200 });
  guest('stacks one after the other', suspending('Promise.resolve()', 'for (let k = 0; k < 3_000; k += 1) await g()'), undefined, { limits: [8] });
  guest('unbounded modules', modules('', 'kept.push(i)'), MEMORY, { limits: [8, 2000], max: () => 200 });
  guest('modules one after the other', modules('k < 3_000', ''), 'all', { limits: [8] });
});
