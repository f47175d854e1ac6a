// What stress tests run to be left.

/** Guests that V8 does not stop, or stops late. */
export const ENDLESS = [
  'Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)',
  'Array.prototype.indexOf.call(new Array(2 ** 32 - 1), 1)',
  'const a = new Array(1e6).fill("x"); for (;;) JSON.stringify(a)',
  'const a = "[" + "[1],".repeat(5e5) + "1]"; for (;;) JSON.parse(a)',
  'new Proxy({}, { get: () => Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1) }).x',
  '"ab".repeat(2 ** 23).replaceAll("a", "xyz").replaceAll("b", "xyz").length',
  '"\\u00e9".repeat(2 ** 21).normalize("NFD").normalize("NFKC").length',
  'const b = 3n ** 100000n; for (;;) b * b % (2n ** 150000n - 1n)',
  'const all = []; for (;;) all.push(new Array(1000).fill(1.5))',
  '/(a*)*$/.test("a".repeat(40) + "b")',
  'for (;;) new Intl.Collator("de").compare("a".repeat(1e5), "b".repeat(1e5))',
  'for (;;) new Intl.DateTimeFormat("ar-EG", { dateStyle: "full" }).format(1e12)',
  'const m = new Map(); for (let i = 0; i < 1e5; i += 1) m.set({}, i); for (;;) new Map(m)',
  'for (;;) Temporal.PlainDate.from("2020-01-01").add({ days: 1e6 }).toString({ calendarName: "always" })',
  'for (let i = 0; ; i += 1) new Function("return " + "1+".repeat(1000) + i)()',
  'const f = () => f() + 1; for (;;) try { f(); } catch {}',
  'const remainders = new Function("x", "y", "let s = 0;" + "s += x % y;".repeat(20000) + "return s"); for (;;) remainders(1e308, 3e-308)',
  'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
  'const a = Array.from({ length: 3e5 }, (_, i) => ({ i })); for (;;) a.sort((x, y) => y.i - x.i).flat()',
  'for (let i = 0; ; i += 1) { const kept = new WeakRef({ i }); new FinalizationRegistry(() => {}).register({ kept }, i); }',
  'const w = new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,10,9,1,7,0,3,64,12,0,11,11]); for (;;) new WebAssembly.Module(w)',
  'const w = new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,3,64,12,0,11,11]); new WebAssembly.Instance(new WebAssembly.Module(w)).exports.f()',
];
