// Threads of guests that cannot be stopped: they are suspended where that is harmless, and take no more time.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const linuxOnly = { skip: process.platform === 'linux' ? false : 'only Linux can suspend a thread' };

/** Hang in V8's built-in functions, and in its C++ code; V8's termination stops none of them. */
const LOOPS = {
  lastIndexOf: 'Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)',
  splice: 'Array.prototype.splice.call({ length: 2 ** 53 - 1 }, 0, 1)',
  shift: 'Array.prototype.shift.call({ length: 2 ** 53 - 1 })',
  every: 'Array.prototype.every.call({ length: 2 ** 53 - 1 }, Object)',
  // The library knows where V8's C++ code lies on x64 only.
  ...(process.arch === 'x64' ? { includes: 'Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)' } : {}),
};

/** Optimized code of WebAssembly does not check for termination where a function makes only tail calls. This one calls itself. */
const TAIL_CALL = `
  const bytes = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 18, 0, 11];
  new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes))).exports.f()`;

/** This takes a minute, nearly all of it in the C library. */
const COPIES = `const view = new Uint8Array(2 ** 26); ${'view.copyWithin(1, 0); '.repeat(5_000)}`;

/** Each with its time limit. */
const GUESTS_THAT_HANG = [
  ...Object.entries(LOOPS).map(([name, code]) => [name, code, 20]),
  ['WebAssembly that makes only tail calls', TAIL_CALL, 5_000],
  ['copyWithin without a loop', COPIES, 1_000],
];

for (const [name, code, timeout] of GUESTS_THAT_HANG) {
  test(`${name} is abandoned, then suspended`, linuxOnly, () => passes(`
    const error = await errorOf(() => context.eval(${JSON.stringify(code)}, { timeout: ${timeout} }));
    assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE');
    const { lostThreads, lostRunning } = ivm.engineStats();
    assert.deepEqual({ lostThreads, lostRunning }, { lostThreads: 1, lostRunning: 1 });
    while (ivm.engineStats().lostRunning > 0) await sleep(50);
    assert.equal(ivm.engineStats().lostThreads, 1);
    otherWorks();`, { timeout: 60_000 }));
}

test('a guest in one of thousands of WebAssembly modules is abandoned, then suspended', linuxOnly, () => passes(`
  // Together, these isolates have almost 5,000 regions of code; each may have 768.
  const bytes = 'new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 4, 1, 2, 0, 11])';
  const others = Array.from({ length: 7 }, () => new ivm.Isolate().createContextSync());
  for (const other of others) {
    other.evalSync(\`globalThis.kept = []; for (let i = 0; i < 700; i++) kept.push(new WebAssembly.Module(\${bytes}));\`);
  }
  const error = syncError(() => context.evalSync(${JSON.stringify(TAIL_CALL)}, { timeout: 5_000 }));
  assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE');
  while (ivm.engineStats().lostRunning > 0) await sleep(50);
  assert.deepEqual(others.map((other) => other.evalSync('kept.length')), Array(7).fill(700));
  otherWorks();`, { timeout: 120_000 }));

test('a snapshot script is abandoned, then suspended', linuxOnly, () => passes(`
  const code = ${JSON.stringify(LOOPS.every)};
  const error = syncError(() => ivm.Isolate.createSnapshot([{ code }], undefined, { deadline: 50 }));
  assert.equal(error.code, 'ERR_ISOLATE_UNRESPONSIVE');
  assert.equal(ivm.engineStats().lostRunning, 1);
  while (ivm.engineStats().lostRunning > 0) await sleep(50);`, { timeout: 60_000 }));

/** How many guests are abandoned at the same time. */
const GUESTS = Number(process.env.GUESTS ?? 10);

test('many threads are abandoned while other threads allocate', linuxOnly, () => passes(`
  // Each element is made in native code, which takes locks of the allocator.
  const loops = ['Array.from({ length: 2 ** 32 - 1 }, () => ({}))', 'Array.prototype.shift.call({ length: 2 ** 53 - 1 })',
    'Array.prototype.every.call({ length: 2 ** 53 - 1 }, Object)', 'Array.prototype.splice.call({ length: 2 ** 53 - 1 }, 0, 1)'];
  const lost = Array.from({ length: ${GUESTS} }, (_, index) => {
    const guest = new ivm.Isolate({ memoryLimit: 64 });
    return guest.createContextSync().eval(loops[index % loops.length], { timeout: 100 });
  });
  let going = true;
  let rounds = 0;
  const allocating = (async () => {
    while (going) {
      const other = new ivm.Isolate({ memoryLimit: 32 });
      const result = await (await other.createContext()).eval('Array.from({ length: 10_000 }, (_, index) => [index]).length');
      assert.equal(result, 10_000);
      other.dispose();
      Buffer.from('x'.repeat(100_000 + rounds));
      rounds += 1;
      await sleep(1);
    }
  })();
  const codes = (await Promise.allSettled(lost)).map(({ reason }) => reason.code);
  for (const code of codes) assert.match(code, /^ERR_ISOLATE_(TIMEOUT|UNRESPONSIVE|MEMORY)$/);
  assert.ok(codes.filter((code) => code === 'ERR_ISOLATE_UNRESPONSIVE').length >= ${GUESTS} / 4, codes.join(' '));
  // Suspension of the others is retried from time to time.
  while (ivm.engineStats().lostRunning > ${GUESTS} / 10) await sleep(50);
  going = false;
  await allocating;
  assert.ok(rounds > 0);
  otherWorks();`, { timeout: 120_000 }));
