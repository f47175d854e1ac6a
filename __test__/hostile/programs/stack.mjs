// Stack overflows, in all places that recurse.

export const group = 'stack';
const OVERFLOW = 'RangeError: Maximum call stack size exceeded';
export const defaults = { ends: OVERFLOW, timeout: 5_000 };

const deep = (open, close, count = 1e5) => `"${open}".repeat(${count}) + "1" + "${close}".repeat(${count})`;
const NESTED = 'let o = {}; for (let i = 0; i < 1e5; i++) o = { o };';
const LIST = 'let a = []; for (let i = 0; i < 1e5; i++) a = [a];';

export const programs = [
  { name: 'a function', code: '(function f() { f(); })()' },
  { name: 'two functions', code: 'const a = () => b(), b = () => a(); a()' },
  { name: 'with many arguments', code: 'const f = (...all) => f(...all, 1); f()' },
  { name: 'with a large frame', code: `const f = new Function(${JSON.stringify(`${Array.from({ length: 5_000 }, (_, i) => `let v${i} = 1`).join(';')}; f()`)}.replace("f()", "this.f()")); f.call({ f() { f.call(this); } })` },
  { name: 'caught at the bottom again and again', code: '(function f() { try { f(); } finally { f(); } })()', ends: 'timeout', timeout: 100 },
  { name: 'caught once', code: 'const f = () => { try { f(); } catch { return 1; } }; return f()', ends: 'value undefined' },
  { name: 'a getter', code: 'const o = { get a() { return this.a; } }; o.a' },
  { name: 'a proxy of itself', code: 'const p = new Proxy({}, {}); Object.setPrototypeOf(p, p); p.a', ends: [OVERFLOW, 'TypeError: …'] },
  { name: 'a proxy of proxies', code: 'let p = {}; for (let i = 0; i < 2e5; i++) p = new Proxy(p, {}); p.a', memory: 64 },
  { name: 'a proxy whose trap asks it', code: 'const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.a' },
  { name: 'proxies called', code: 'let f = () => 1; for (let i = 0; i < 2e5; i++) f = new Proxy(f, {}); f()', memory: 64, ends: 'value undefined' },
  { name: 'bound functions', code: 'let f = () => 1; for (let i = 0; i < 2e5; i++) f = f.bind(); f()', memory: 64, ends: [OVERFLOW, 'value undefined'] },
  { name: 'toString', code: 'const o = { toString() { return `${this}`; } }; `${o}`' },
  { name: 'an array that contains itself deeply', code: `${LIST} String(a)` },
  { name: 'toString of an error', code: 'const e = new Error(); Object.defineProperty(e, "message", { get() { return String(this); } }); String(e)' },
  { name: 'prepareStackTrace', code: 'Error.prepareStackTrace = () => new Error().stack; return new Error().stack', ends: [OVERFLOW, 'value undefined', 'value …'] },
  { name: 'JSON.stringify', code: `${NESTED} JSON.stringify(o)`, ends: 'value undefined' },
  { name: 'JSON.parse', code: `JSON.parse(${deep('[', ']')})`, ends: ['value undefined', OVERFLOW] },
  { name: 'JSON.parse with a reviver', code: `JSON.parse(${deep('[', ']')}, (k, v) => v)` },
  { name: 'toJSON', code: 'const o = { toJSON() { return JSON.stringify(o); } }; JSON.stringify(o)' },
  { name: 'flat', code: `${LIST} a.flat(Infinity)` },
  { name: 'copying', code: `${NESTED} return o`, ends: ['DataCloneError: …', OVERFLOW, 'RangeError: …'] },
  { name: 'copying lists', code: `${LIST} return a`, ends: ['DataCloneError: …', OVERFLOW, 'RangeError: …'] },
  { name: 'copying Maps', code: 'let m = new Map(); for (let i = 0; i < 5e4; i++) m = new Map([[1, m]]); return m', memory: 128, ends: [OVERFLOW, 'RangeError: …'] },
  { name: 'copying causes', code: 'let e = new Error("x"); for (let i = 0; i < 1e5; i++) e = Object.assign(new Error("y", { cause: e }), { stack: "" }); throw e', memory: 128, ends: 'Error: y' },
  { name: 'a regular expression', code: 'return /(?:(a)|b)*$/.test("ab".repeat(5e6))', ends: [OVERFLOW, 'value true', 'value false', 'timeout', 'memory'], memory: 64, peak: 300 },
  { name: 'sort that sorts', code: 'const f = () => [2, 1].sort(f) && 0; f()' },
  { name: 'Symbol.iterator', code: 'const o = { *[Symbol.iterator]() { yield* o; } }; [...o]' },
  { name: 'nested generators', code: 'let g = (function* () { for (;;) yield 1; })(); for (let i = 0; i < 2e4; i++) g = ((inner) => (function* () { yield* inner; })())(g); g.next()', memory: 128, ends: [OVERFLOW] },
  { name: 'Symbol.toPrimitive', code: 'const o = { [Symbol.toPrimitive]: () => +o }; +o' },
  { name: 'Reflect.construct', code: 'class A { constructor() { Reflect.construct(A, []); } } new A()' },
  { name: 'super', code: 'class A { m() { return super.m ? super.m() : this.m(); } } new A().m()' },
  { name: 'instanceof through bound functions', code: 'let f = function () {}; for (let i = 0; i < 2e5; i++) f = f.bind(); ({}) instanceof f', memory: 64, ends: [OVERFLOW, 'TypeError: …'] },
  { name: 'async functions', code: 'const f = async () => { await f(); }; await f()', async: true },
  { name: 'Promise.resolve of thenables', code: 'const f = () => ({ then(go) { go(f()); } }); await f()', async: true, ends: 'timeout', timeout: 100 },
  { name: 'eval', code: '(0, eval)("this").f = () => (0, eval)("f()"); f()' },
  { name: 'a host function', code: 'const f = () => { echo(); f(); }; f()', ends: [OVERFLOW, 'timeout'] },
  { name: 'ropes', code: 'let s = "x"; for (let i = 0; i < 3e5; i++) s = i % 2 ? "a" + s : s + "b"; return s.length + s.indexOf("zz")', ends: 'value 300000', memory: 64 },
];
