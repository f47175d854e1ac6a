// WebAssembly: its code runs like JavaScript, and compiling it is additional work.

export const group = 'WebAssembly';
export const defaults = { ends: 'timeout' };

const HEAD = '0,97,115,109,1,0,0,0';
const TYPE = '1,4,1,96,0,0';
/** One function of type [] -> [], exported as `f`. */
const one = (body, more = '') => {
  const size = body.length + 2;
  return `[${HEAD},${TYPE},3,2,1,0,${more}7,5,1,1,102,0,0,10,${size + 2},1,${size},0,${[...body, 11].join()}]`;
};
const run = (bytes) => `new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(${bytes}))).exports.f()`;
const LOOP = one([3, 64, 12, 0, 11]);
const LOOP_OF_LOOPS = one([3, 64, 3, 64, 12, 1, 11, 11]);
const CALLS_ITSELF = one([16, 0]);
const CALLS_TWICE = one([16, 0, 16, 0]);
const UNREACHABLE = one([0]);
// V8's optimizing compiler counts tail calls as none, so it leaves out the checks of functions that make no others.
const TAIL_CALLS_ITSELF = one([18, 0]);
const TAIL_CALLS_EACH_OTHER = `[${HEAD},${TYPE},3,3,2,0,0,7,5,1,1,102,0,0,10,11,2,4,0,18,1,11,4,0,18,0,11]`;
const TAIL_CALLS_A_TABLE = `[${HEAD},${TYPE},3,2,1,0,4,4,1,112,0,1,7,5,1,1,102,0,0,9,7,1,0,65,0,11,1,0,10,9,1,7,0,65,0,19,0,0,11]`;
const GROWS = one([3, 64, 65, 1, 64, 0, 26, 12, 0, 11], '5,3,1,0,1,');
/** Each of 50 modules has a function that makes a tail call of the next one's. */
const RING = `const t = new WebAssembly.Table({ initial: 50, element: 'anyfunc' });
  for (let i = 0; i < 50; i++) {
    const bytes = [${HEAD},${TYPE},2,9,1,1,109,1,116,1,112,0,50,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,65,(i + 1) % 50,19,0,0,11];
    t.set(i, new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)), { m: { t } }).exports.f);
  }
  t.get(0)();`;
/** A module of `count` functions, each of `length` additions. */
const MODULE = `
  const leb = (n) => { const out = []; do { const b = n & 127; n >>>= 7; out.push(n ? b | 128 : b); } while (n); return out; };
  const section = (id, bytes) => [Uint8Array.of(id, ...leb(bytes.length)), bytes];
  const join = (parts) => { const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0)); let at = 0; for (const p of parts) { out.set(p, at); at += p.length; } return out; };
  const big = (count, length) => {
    const body = new Uint8Array(2 + length * 5).fill(1);
    for (let i = 0; i < length; i++) body.set([65, 1, 65, 2, 106, 26].slice(0, 5), 1 + i * 5);
    const add = []; for (let i = 0; i < length; i++) add.push(65, 1, 26);
    const code = Uint8Array.of(0, ...add, 11);
    const entry = join([Uint8Array.from(leb(code.length)), code]);
    const types = new Uint8Array(count);
    return join([Uint8Array.of(${HEAD}), ...section(1, Uint8Array.of(1, 96, 0, 0)), ...section(3, join([Uint8Array.from(leb(count)), types])), ...section(10, join([Uint8Array.from(leb(count)), ...Array(count).fill(entry)]))]);
  };`;

export const programs = [
  { name: 'loop', code: run(LOOP) },
  { name: 'loop of loops', code: run(LOOP_OF_LOOPS) },
  { name: 'loop around JavaScript', code: `const f = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(${UNREACHABLE}))).exports.f; for (;;) try { f(); } catch {}` },
  { name: 'recursion', code: run(CALLS_ITSELF), ends: 'RangeError: Maximum call stack size exceeded' },
  { name: 'branching recursion, again and again', code: `const f = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(${CALLS_TWICE}))).exports.f; for (;;) try { f(); } catch {}` },
  // As long as one of the functions is not optimized, V8 checks there.
  { name: 'a tail call of itself', code: run(TAIL_CALLS_ITSELF), ends: ['unresponsive', 'timeout'], timeout: 2_000 },
  { name: 'tail calls of each other', code: run(TAIL_CALLS_EACH_OTHER), ends: ['unresponsive', 'timeout'], timeout: 2_000 },
  { name: 'a tail call through a table', code: run(TAIL_CALLS_A_TABLE), ends: ['unresponsive', 'timeout'], timeout: 2_000 },
  { name: 'tail calls through many modules', code: RING, ends: ['unresponsive', 'timeout'], timeout: 2_000 },
  { name: 'a trap', code: run(UNREACHABLE), ends: 'RuntimeError: unreachable' },
  // Each refusal costs V8 several collections, and it checks for termination every few hundred iterations.
  { name: 'memory.grow in a loop', code: run(GROWS), ends: ['timeout', 'unresponsive'], timeout: 150 },
  { name: 'compiling in a loop', code: `for (;;) new WebAssembly.Module(new Uint8Array(${LOOP}));` },
  { name: 'instances that are kept', code: `const m = new WebAssembly.Module(new Uint8Array(${LOOP})), kept = []; for (;;) kept.push(new WebAssembly.Instance(m));`, ends: 'timeout', timeout: 300 },
  { name: 'modules that are kept', code: `const kept = []; for (let i = 0; i < 2e5; i++) kept.push(new WebAssembly.Module(new Uint8Array(${LOOP}))); return kept.length`, ends: ['value 200000', 'memory', 'timeout'], timeout: 3_000, peak: 400 },
  { name: 'compiling a big module', code: `${MODULE} const bytes = big(2000, 500); for (;;) new WebAssembly.Module(bytes);`, ends: ['timeout', 'unresponsive', 'memory'], timeout: 200, peak: 400 },
  { name: 'endless asynchronous compilation', code: `${MODULE} const bytes = big(500, 100); const f = () => WebAssembly.compile(bytes).then(f, f); await Promise.all([f(), f(), f(), f()]);`, async: true, timeout: 150, peak: 400 },
  { name: 'asynchronous compiling that is left behind', code: `${MODULE} const bytes = big(2000, 200); for (let i = 0; i < 20; i++) WebAssembly.compile(bytes).then(() => { for (;;); }); return 1`, ends: 'value 1', timeout: 2_000, peak: 400 },
  { name: 'validating in a loop', code: `${MODULE} const bytes = big(1000, 100); for (;;) WebAssembly.validate(bytes);`, timeout: 150, ends: ['timeout', 'unresponsive'] },
  { name: 'instantiate whose start function loops', code: `const bytes = new Uint8Array([${HEAD},${TYPE},3,2,1,0,8,1,0,10,9,1,7,0,3,64,12,0,11,11]); await WebAssembly.instantiate(bytes);`, async: true },
  { name: 'imports with getters', code: `new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([${HEAD},${TYPE},2,7,1,1,109,1,102,0,0])), { get m() { for (;;); } })` },
  { name: 'bytes that are none', code: 'new WebAssembly.Module(new Uint8Array(2 ** 20).fill(255))', ends: 'CompileError: …' },
];
