// Programs that use up the memory limit, slowly and at once: the isolate ends or the guest gets an error, the process and other isolates
// continue. host/isolate/memory tests the effect on the event loop of each kind of host.

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const MEMORY = "{ name: 'Error', code: 'ERR_ISOLATE_MEMORY', message: 'Isolate was disposed during execution due to memory limit' }";
/** Milliseconds: the longest grace period, for threads without processor time, and a margin. */
const GRACE = 4_000 + 250;

for (const guest of [
  'const kept = []; for (let i = 0;; i += 1) kept.push(("x".repeat(100000) + i).toUpperCase())',
  'const kept = []; for (;;) kept.push(new Array(1000).fill(1.5))',
  'const kept = new Map(); for (let i = 0;; i += 1) kept.set(i, [i])',
  'let node = null; for (;;) node = { node, more: [1, 2, 3] }',
  'const kept = []; for (let i = 0;; i += 1) kept.push(() => i)',
  'const kept = []; const f = () => { kept.push(new Array(1000).fill(1.5)); return Promise.resolve().then(f) }; f()',
  'const kept = []; for (;;) kept.push(Promise.resolve().then(() => {}))',
  'let s = "x"; const kept = []; for (;;) { s += s.slice(0, 1000) + "y"; kept.push(s + "z"); s.charCodeAt(5); /z/.test(kept.at(-1)) }',
  'const kept = []; for (;;) kept.push(new Error("e"))',
  'const kept = []; for (let i = 0;; i += 1) kept.push(Symbol(i))',
  'const kept = []; for (;;) kept.push(2n ** 10000n + 1n)',
  'const kept = []; for (let i = 0;; i += 1) { const o = {}; o["p" + i] = 1; kept.push(o) }',
]) {
  test(guest, () => passes(`
    await assert.rejects(context.eval(${JSON.stringify(guest)}), ${MEMORY});
    assert.equal(isolate.isDisposed, true);
    otherWorks();`, { options: '{ memoryLimit: 32 }' }));
}

// Some of them are refused by V8 with an error, some end the isolate: what counts is that nothing else ends.
for (const guest of [
  'const s = "x"; let t = s; for (;;) t += t',
  '[...Array(2 ** 27).keys()]',
  'Array(1e9).fill(0)',
  'Array.from({ length: 2 ** 32 - 1 })',
  'Array(2 ** 28).join("x".repeat(100))',
  '"a".repeat(2 ** 28).split("")',
  'JSON.parse("[".repeat(1e7))',
  'new Array(2 ** 26).fill(0).map((_, i) => ({ i }))',
  'const a = new Array(2 ** 25).fill(1); a.toSorted(); [...a, ...a, ...a]',
  '"x".repeat(2 ** 29)',
  'new Uint8Array(2 ** 31).sort()',
  'const m = new WebAssembly.Memory({ initial: 1 }); for (;;) m.grow(1000)',
  'const kept = []; for (;;) kept.push(new SharedArrayBuffer(2 ** 20))',
  'const m = new WebAssembly.Memory({ initial: 1 }); m.grow(16000); new Uint8Array(m.buffer).fill(1)',
]) {
  test(`survived: ${guest}`, () => passes(`
    const start = ms();
    const before = process.memoryUsage.rss();
    const error = await errorOf(() => context.eval(${JSON.stringify(guest)}, { timeout: 1500 }));
    assert.ok(error instanceof Error);
    assert.ok(ms() - start < 1500 + ${GRACE}, (ms() - start) + ' ms');
    otherWorks();
    assert.ok(process.memoryUsage.rss() - before < 1.5 * 2 ** 30);`, { options: '{ memoryLimit: 64 }' }));
}
