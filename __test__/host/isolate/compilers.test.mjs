// V8 compiles functions of guests on threads of its own, which it can neither stop nor refuse memory. What that takes grows with the square of a function's
// size: at each branch, Maglev copies what it knows about every value.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';
import { SKIP, here } from '../../isolate/caller.mjs';
import { workers } from '../../workers/helper.mjs';

/** A guest with a function that reads `values` elements, and then has `branches` or `cases`. Nothing but the first call of `busy` compiles it. */
const GUEST = `
  const source = (values, branches, cases) => '(function (a, list, times) { let s = 0; for (let i = 0; i < times; i++) s += i & 3; if (times === 0) {'
    + Array.from({ length: values }, (_, i) => 's += list[' + i + '] | 0;').join('') + 'if (a) s++;'.repeat(branches)
    + 'switch (a) {' + Array.from({ length: cases }, (_, i) => 'case ' + i + ': s++; break;').join('') + '} } return s; })';
  const guestWith = async (memoryLimit, values, branches, cases) => {
    const guest = new ivm.Isolate({ memoryLimit });
    const realm = await guest.createContext();
    await realm.eval('globalThis.keep = []; globalThis.list = Array.from({ length: ' + values + ' }, (_, i) => i); globalThis.f = ' + source(values, branches, cases) + '; for (let i = 0; i < 60; i++) f(i & 1, list, 0); 0');
    return { guest, realm };
  };
  const busy = 'for (const end = Date.now() + 100; Date.now() < end;) { f(1, list, 20000); f(0, list, 0); }';`;

/** The memory of the process in MB, and waits until V8's threads have no work. Linux only. */
const MEMORY = `
  const { readFileSync } = await import('node:fs');
  const resident = () => Number(/VmRSS:\\s+(\\d+)/u.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  const rest = async (seen) => {
    for (let quiet = 0; quiet < 20;) {
      const used = process.cpuUsage();
      await sleep(50);
      const { user, system } = process.cpuUsage(used);
      quiet = user + system < 5_000 ? quiet + 1 : 0;
      seen();
    }
  };`;

const LINUX = { skip: process.platform !== 'linux' };

for (const act of ['eval', 'evalSync']) {
  test(`a compiler that would take a gigabyte for an isolate of 8 MB does not, ${act}`, LINUX, () => passes(`
    ${GUEST} ${MEMORY}
    const before = resident();
    let most = 0;
    const look = () => { most = Math.max(most, resident() - before); assert.ok(most < 550, String(most)); };
    const { guest, realm } = await guestWith(8, 1_000, 1_000, 0);
    const end = ms() + 30_000;
    await assert.rejects(async () => { while (ms() < end) { await realm.${act}(busy, { timeout: 20_000 }); look(); } }, { code: 'ERR_ISOLATE_MEMORY' });
    await rest(look);
    // The compiler has taken more than the isolate may have, and was stopped for that.
    assert.ok(most > 150, String(most));
    await waitFor(() => ivm.engineStats().endings.outOfMemory === 1);
    assert.equal(ivm.engineStats().lostThreads, 1);
    // Its memory is free again, and V8 has threads for others.
    await waitFor(() => resident() - before < 150);
    otherWorks();
    const module = await new ivm.Isolate().createContext();
    assert.equal(await module.eval('WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(String)', { promise: true, timeout: 20_000 }), '[object WebAssembly.Module]');
    await waitFor(() => ivm.engineStats().alive === 2);`, { timeout: 90_000 }));
}

test('an isolate that becomes unreachable and whose compiler was stopped counts as lost, and its memory is free again', LINUX, () => passes(`
  ${GUEST} ${MEMORY}
  const dropOne = async () => {
    const { realm } = await guestWith(8, 1_000, 1_000, 0);
    await realm.eval('for (let i = 0; i < 20; i++) keep.push(new Array(20000).fill(1.5)); 0');
    await realm.eval(busy + '; 0');
  };
  const before = resident();
  let count = 0;
  // V8 may have compiled the functions of some of them before they became unreachable.
  for (; count < 3 || (count < 12 && ivm.engineStats().lostThreads === 0); count += 1) {
    await dropOne();
    await waitFor(() => { gc(); return ivm.engineStats().alive === 1; }, 60_000);
  }
  await rest(() => {});
  const { lostThreads, lostBytes, endings } = ivm.engineStats();
  assert.ok(lostThreads > 0, String(lostThreads));
  assert.deepEqual([endings.outOfMemory, endings.collected], [lostThreads, count - lostThreads]);
  assert.ok(lostBytes > 0, String(lostBytes));
  // The compiler of each took hundreds.
  await waitFor(() => resident() - before < 30 + 60 * count);
  otherWorks();`, { timeout: 150_000, collects: true }));

test('functions of more than 32 KB of bytecode are not optimized', LINUX, () => passes(`
  ${GUEST} ${MEMORY}
  const before = resident();
  let most = 0;
  for (let n = 0; n < 3; n += 1) {
    const { guest, realm } = await guestWith(64, 1_500, 1_500, 0);
    for (let i = 0; i < 4; i += 1) {
      assert.equal(await realm.eval(busy + '; f(0, list, 3)', { timeout: 20_000 }), 3);
      most = Math.max(most, resident() - before);
    }
    guest.dispose();
  }
  await rest(() => {});
  // To optimize one takes some hundred.
  assert.ok(most < 120, most + ' MB');
  assert.equal(ivm.engineStats().lostThreads, 0);`, { timeout: 90_000 }));

test('isolates end while V8 compiles for others that have ended', LINUX, () => passes(`
  ${GUEST}
  const { cpus } = await import('node:os');
  const count = Math.min(4, Math.max(1, cpus().length >> 1));
  let seen = false;
  // V8 may have compiled before.
  for (let n = 0; n < 12 && !seen; n += 1) {
    const compiled = await Promise.all(Array.from({ length: count }, () => guestWith(400, 700, 1_400, 0)));
    await Promise.all(compiled.map(async ({ realm }) => { for (let i = 0; i < 2 + n; i += 1) await realm.eval(busy, { timeout: 20_000 }); }));
    const others = Array.from({ length: 20 }, () => new ivm.Isolate());
    for (const other of others) other.createContextSync().evalSync('1');
    const { ended } = ivm.engineStats();
    for (const { guest } of compiled) guest.dispose();
    for (const other of others) other.dispose();
    await waitFor(() => ivm.engineStats().ended >= ended + others.length, 20_000);
    seen = ivm.engineStats().alive === 1 + count;
    await waitFor(() => ivm.engineStats().alive === 1, 60_000);
  }
  assert.ok(seen, 'they have waited');`, { timeout: 120_000 }));

test('a call that waits for a promise fails while V8 compiles for its isolate, which has ended', LINUX, () => passes(`
  ${GUEST}
  let seen = false;
  // V8 may have compiled before.
  for (let n = 0; n < 12 && !seen; n += 1) {
    const { guest, realm } = await guestWith(400, 700, 1_400, 0);
    const waiting = assert.rejects(realm.eval('new Promise(() => {})', { promise: true }), { message: 'Promise was abandoned' });
    for (let i = 0; i < 2 + n; i += 1) await realm.eval(busy, { timeout: 20_000 });
    guest.dispose();
    await waiting;
    seen = ivm.engineStats().alive === 2;
    await waitFor(() => ivm.engineStats().alive === 1, 60_000);
  }
  assert.ok(seen, 'it has not ended');`, { timeout: 120_000 }));

test('a worker that ends does not wait longer than the grace period for V8 to compile for isolates with its memory', LINUX, () => workers(`
  ivm.configureEngine({ terminationGrace: 20 });
  let seen = false;
  for (let n = 0; n < 12 && !seen; n += 1) {
    const worker = await ready(n);
    await worker.terminate();
    seen = ivm.engineStats().alive === 1;
    while (ivm.engineStats().alive > 0) await sleep(20);
  }
  same(seen, true);`, `
  ${GUEST}
  const { realm } = await guestWith(400, 700, 0, 900);
  await realm.global.set('shared', new ivm.ExternalCopy(new SharedArrayBuffer(8)).copyInto());
  for (let i = 0; i < 1 + workerData; i += 1) await realm.eval(busy, { timeout: 20_000 });
  tell();
  setInterval(() => {}, 1_000);`, { limit: 120_000 }));

test('a collection that waits for a compiler does not keep the thread of a host', { skip: SKIP }, () => here(`
  ${GUEST}
  ivm.configureEngine({ terminationGrace: 200 });
  let most = 0;
  for (let n = 0; n < 3 && most < 150; n += 1) {
    // One instruction takes the compiler seconds, during which it cannot be stopped for a collection.
    const { guest, realm } = await guestWith(1_000, 700, 0, 900);
    for (const end = ms() + 8_000; ms() < end && !guest.isDisposed;) {
      const start = ms();
      try {
        realm.evalSync('for (;;) { f(1, list, 2000); f(0, list, 0); for (let i = 0; i < 20; i++) keep[i & 31] = new Array(5000).fill(i); }', { timeout: 20 });
      } catch (error) {
        assert.ok(['ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_UNRESPONSIVE'].includes(error.code), error.stack);
      }
      most = Math.max(most, ms() - start);
    }
    if (!guest.isDisposed) guest.dispose();
  }
  // A guest was left, or was about to be.
  assert.ok(most > 150, String(most));
  // A guest that gets no processor has four times the grace period.
  assert.ok(most < 20 + 4 * 200 + 700, String(most));
  otherWorks();`));
