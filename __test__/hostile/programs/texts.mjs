// Patterns, numbers, dates and languages: small inputs that cause much work.

export const group = 'texts and numbers';
export const defaults = { ends: 'timeout' };

const SLOW_TURNS = ['timeout', 'unresponsive'];

export const programs = [
  { name: 'backtracking', code: '/^(a+)+$/.test("a".repeat(40) + "b")' },
  { name: 'backtracking over two', code: '/(x+x+)+y/.test("x".repeat(40))' },
  { name: 'alternatives that overlap', code: '"a".repeat(40).concat("b").match(/^(a|a)*$/)' },
  { name: 'backtracking with Unicode sets', code: '/^(?:[\\p{L}--[b]]+)+$/v.test("a".repeat(40) + "1")' },
  { name: 'backreferences', code: '/^(a*)*\\1b$/.test("a".repeat(50))' },
  { name: 'lookbehind', code: '/(?<=^(a+)+)b/.test("a".repeat(40) + "c")', ends: 'value undefined' },
  { name: 'lookahead in a loop', code: '/^(?:(?=(a+))a)*\\1+b/.test("a".repeat(4000))', ends: 'value undefined' },
  { name: 'a sticky search of nothing', code: 'const r = /(?:)/y; for (;;) r.exec("");' },
  { name: 'endless matchAll', code: 'class R extends RegExp { exec() { return [""]; } } for (const m of "a".matchAll(new R("a", "g")));' },
  { name: 'Symbol.replace on a hostile exec', code: 'const r = /a/g; let n = 0; r.exec = () => (n++ ? null : { length: 2 ** 32 - 1, index: 0, 0: "a" }); "a".replace(r, "b")', ends: 'memory' },
  { name: 'Symbol.replace on a smaller one', code: 'const r = /a/g; let n = 0; r.exec = () => (n++ ? null : { length: 2 ** 21, index: 0, 0: "a" }); "a".replace(r, "b")', ends: 'value undefined', timeout: 5_000 },
  { name: 'split by a hostile pattern', code: '"a".repeat(60).concat("b").split(/(a+)+$/)' },
  { name: 'a quantifier bomb', code: 'new RegExp("(?:" + "a{0,1000}".repeat(5) + "){1000}").test("b")', peak: 300, ends: 'value undefined' },
  { name: 'nested quantifiers', code: 'new RegExp("((((((a{10}){10}){10}){10}){10}){10}){10}").test("a")', timeout: 2_000, peak: 400, ends: 'value undefined' },
  { name: 'a pattern of many groups', code: 'new RegExp("(a)".repeat(2 ** 16)).test("a")', ends: 'SyntaxError: …', timeout: 5_000 },
  { name: 'deep groups', code: 'new RegExp("(?:".repeat(1e5) + ")".repeat(1e5)).test("a")', timeout: 5_000, ends: 'value undefined' },
  { name: 'many patterns compiled', code: 'for (let i = 0;; i++) new RegExp("(?:a|b|c){" + (i % 900) + "}x" + i).test("abc".repeat(300));' },
  { name: 'case folding of everything', code: 'for (;;) new RegExp("[\\\\p{L}\\\\p{M}]+" + Math.random(), "iu").test("ß".repeat(100));' },
  { name: 'BigInt multiplication', code: 'let x = 3n; for (;;) x = (x * x) % (2n ** 2000n);' },
  { name: 'a power of a BigInt', code: 'return 3n ** (2n ** 31n) > 1n', ends: 'RangeError: Maximum BigInt size exceeded' },
  { name: 'a large power of a BigInt', code: 'return 3n ** 20_000_000n > 1n', timeout: 60 },
  { name: 'BigInt division', code: 'const a = (1n << 2_000_000n) - 1n, b = (1n << 1_000_000n) - 3n; for (;;) a % b;' },
  { name: 'a BigInt as text', code: 'const a = (1n << 8_000_000n) - 1n; for (;;) String(a);' },
  { name: 'a BigInt from text', code: 'const s = "9".repeat(5_000_000); for (;;) BigInt(s);' },
  { name: 'shifts of BigInts', code: 'let x = 1n; for (;;) x <<= 50_000_000n;', peak: 300, ends: ['RangeError: Maximum BigInt size exceeded', 'memory'], timeout: 5_000 },
  { name: 'numbers as text', code: 'for (;;) (Math.PI * Number.MAX_VALUE / 7).toString(36), (1 / 3).toFixed(100);' },
  { name: 'parsing dates', code: 'const s = "(".repeat(1e3) + "2020"; for (;;) Date.parse(s);' },
  // Each iteration takes long, and V8 checks for termination only every few hundred iterations.
  { name: 'Intl.NumberFormat', code: 'for (;;) new Intl.NumberFormat("ar-EG-u-nu-arab", { style: "unit", unit: "kilometer-per-hour" }).format(1e300);', ends: SLOW_TURNS },
  { name: 'localeCompare of long texts', code: 'const a = "\\u0301".repeat(1e3); for (;;) a.localeCompare(a + "a");', ends: SLOW_TURNS },
  { name: 'normalize of marks', code: 'const s = "a" + "\\u0301\\u0323".repeat(500); for (;;) s.normalize("NFC");', ends: ['timeout', 'unresponsive'] },
  { name: 'Intl.Locale with hostile options', code: 'new Intl.NumberFormat("de", { get style() { for (;;); } })' },
  { name: 'Intl.ListFormat over a hostile list', code: 'new Intl.ListFormat("en").format({ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: "x" }) }) })', ends: ['timeout', 'memory', 'unresponsive'] },
  { name: 'Intl.DurationFormat', code: 'for (;;) new Intl.DurationFormat("en", { style: "long" }).format({ hours: 1, minutes: 2 });', ends: SLOW_TURNS },
  { name: 'Temporal arithmetic', code: 'let d = Temporal.PlainDate.from("2000-01-01"); for (;;) d = d.add({ days: 1 }).subtract({ months: 1 }).add({ months: 1 });', ends: SLOW_TURNS },
  { name: 'Temporal in far calendars', code: 'for (;;) Temporal.PlainDate.from({ year: 200000, month: 3, day: 3, calendar: "chinese" }).until(Temporal.PlainDate.from("-200000-01-01[u-ca=chinese]"), { largestUnit: "months" });', ends: 'unresponsive' },
  { name: 'Temporal with getters', code: 'Temporal.PlainDate.from({ get year() { for (;;); } })' },
  { name: 'Temporal in time zones', code: 'for (;;) Temporal.ZonedDateTime.from("2020-03-08T02:30[America/New_York]").add({ years: 1000 }).startOfDay();', ends: SLOW_TURNS },
  { name: 'encodeURIComponent', code: 'const s = "ä".repeat(1e3); for (;;) decodeURIComponent(encodeURIComponent(s));', ends: SLOW_TURNS },
  { name: 'RegExp.escape', code: 'const s = "*".repeat(1e3); for (;;) RegExp.escape(s);' },
  { name: 'parseInt and parseFloat', code: 'const s = "1".repeat(1e4); for (;;) parseInt(s, 3), parseFloat(s);' },
];
