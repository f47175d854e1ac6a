// Loops that the optimizing compiler handles. V8's loop unrolling removes the wrong stack check from some of them, after which nothing can
// stop them. These programs prove that the flag that disables it works.

export const group = 'compiled loops';
export const defaults = { ends: 'timeout' };

export const programs = [
  { name: 'new Array(1000).fill(1.5)', code: 'for (;;) { new Array(1000).fill(1.5); }' },
  { name: 'new Array(1000).fill(0)', code: 'for (;;) { new Array(1000).fill(0); }' },
  { name: 'new Array(1000).fill({})', code: 'for (;;) { new Array(1000).fill({}); }' },
  { name: 'new Array(64).fill(1.5)', code: 'for (;;) { new Array(64).fill(1.5); }' },
  { name: 'kept and pushed', code: 'const kept = []; for (let i = 0;; i++) { kept[i & 7] = new Array(1000).fill(1.5); }' },
  { name: 'in a function', code: 'function f() { return new Array(500).fill(2.5); } for (;;) f();' },
  { name: 'in a while with a condition', code: 'let n = 0; while (n < Infinity) { n = new Array(1000).fill(n).length; }' },
  { name: 'two nested loops of it', code: 'for (;;) { for (let i = 0; i < 10; i++) new Array(100 + i).fill(1.5); }' },
  { name: 'a hand-written fill', code: 'for (;;) { const a = []; for (let j = 0; j < 1000; j++) a[j] = 1.5; }' },
  { name: 'a typed array that is filled', code: 'for (;;) { new Float64Array(1000).fill(1.5); }' },
  { name: 'Array.from with a function', code: 'for (;;) { Array.from({ length: 100 }, () => 1.5); }' },
  { name: 'spread of a new array', code: 'for (;;) { const a = [...new Array(500)]; a.length = 0; }' },
  { name: 'concat', code: 'for (;;) { [].concat([1], [2]); }' },
  { name: 'reduce', code: 'const a = new Array(100).fill(1); let n = 0; for (;;) n += a.reduce((x, y) => x + y, 0);' },
  { name: 'integers only', code: 'let x = 0; for (;;) x = (x * 31 + 7) | 0;' },
  { name: 'a long countdown', code: 'for (;;) for (let i = 2 ** 31 - 1; i > 0; i--);' },
  { name: 'strings of fixed length', code: 'let s = ""; for (;;) s = (s + "x").slice(-10);' },
  { name: 'Atomics', code: 'const v = new Int32Array(new SharedArrayBuffer(8)); for (;;) Atomics.add(v, 0, 1);' },
  { name: 'proxies', code: 'const p = new Proxy({}, { get: (_, k) => k, has: () => true }); for (;;) p.a, "b" in p;' },
  { name: 'Reflect', code: 'for (;;) Reflect.construct(Array, [10]).fill(1.5);' },
];
