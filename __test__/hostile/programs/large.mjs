// Values that a host reads slowly, as arguments of a host function. They are read without interruption or refused.

export const group = 'large values';
export const defaults = { memory: 128, timeout: 30_000, peak: 700, kept: 350 };

/** Code that makes `v`. */
const LARGE = [
  { name: 'an object of many keys', code: 'const v = {}; for (let i = 0; i < 2.5e5; i++) v["k" + i] = i;' },
  { name: 'an object of many numbers as keys', code: 'const v = {}; for (let i = 0; i < 2.5e5; i++) v[i * 1000] = i;' },
  { name: 'a Map of many strings', code: 'const v = new Map(); for (let i = 0; i < 3e5; i++) v.set("k" + i, i);' },
  { name: 'a Set of many numbers', code: 'const v = new Set(); for (let i = 0; i < 5e5; i++) v.add(i + 0.5);' },
  { name: 'many different regular expressions', code: 'const v = []; for (let i = 0; i < 1e5; i++) v.push(new RegExp("a" + i, "v"));' },
  { name: 'many errors', code: 'Error.stackTraceLimit = 0; const v = []; for (let i = 0; i < 1e5; i++) v.push(new Error("x" + i));' },
  { name: 'many dates', code: 'const v = []; for (let i = 0; i < 3e5; i++) v.push(new Date(i));' },
  { name: 'many empty arrays', code: 'const v = []; for (let i = 0; i < 1e6; i++) v.push([]);' },
  { name: 'many small objects', code: 'const v = []; for (let i = 0; i < 4e5; i++) v.push({ a: i, b: "x" + (i & 7), c: null });' },
  { name: 'many deep nests', code: 'const v = []; for (let i = 0; i < 500; i++) { let d = []; for (let j = 0; j < 1000; j++) d = [d]; v.push(d); }' },
  { name: 'many strings', code: 'const v = []; for (let i = 0; i < 8e5; i++) v.push("s" + i);' },
  { name: 'many numbers', code: 'const v = []; for (let i = 0; i < 3e6; i++) v.push(i);' },
  { name: 'a sparse array', code: 'const v = []; v.length = 4e9; for (let i = 0; i < 3e5; i++) v[i * 1000] = i;' },
  { name: 'an array with many names', code: 'const v = []; for (let i = 0; i < 3e5; i++) v["k" + i] = i;' },
  { name: 'many BigInts', code: 'const v = []; for (let i = 0; i < 5e5; i++) v.push(BigInt(i) << 70n);' },
  { name: 'one object a million times', code: 'const v = new Array(2e6).fill({});' },
  { name: 'many views', code: 'const b = new ArrayBuffer(8); const v = []; for (let i = 0; i < 2e5; i++) v.push(new Uint8Array(b, 0, 1));' },
];

/** The same for values that are refused. */
const COSTLY = [
  { name: 'a regular expression of many properties', code: 'const v = [new RegExp("\\\\p{L}".repeat(2_000), "v")];' },
  { name: 'a regular expression of properties of strings', code: 'const v = [new RegExp("\\\\p{RGI_Emoji}".repeat(20), "vi")];' },
  { name: 'a regular expression of many groups', code: 'let s = ""; for (let i = 0; i < 5_000; i++) s += "(?<a" + i + ">x)"; const v = [new RegExp(s)];' },
  { name: 'a long regular expression', code: 'const v = [new RegExp("[a-z]".repeat(1e5))];' },
  { name: 'a BigInt of many megabytes', code: 'const v = [1n << 200_000_000n];' },
];

const REFUSED = 'Error: Unable to deserialize cloned data: …';
const TOO_LARGE = 'RangeError: Result of …';

export const programs = [
  ...LARGE.map(({ name, code }) => ({ name, code: `${code} return echo(v)`, ends: 'value 1' })),
  ...COSTLY.map(({ name, code }) => ({ name, code: `${code} return v`, ends: REFUSED, sandbox: [REFUSED, TOO_LARGE] })),
  { name: 'many arguments of many parts', code: 'const o = Array.from({ length: 200 }, () => ({})); return echo(...Array(4_000).fill(o))', ends: ['value 4000', 'RangeError: …'] },
  { name: 'many keys as a result', code: 'const v = {}; for (let i = 0; i < 2.5e5; i++) v["k" + i] = i; return v', ends: 'value …', sandbox: TOO_LARGE },
  { name: 'many small objects as a promised result', async: true, code: 'const v = []; for (let i = 0; i < 3e5; i++) v.push({ i }); return v', ends: 'value …', sandbox: TOO_LARGE },
];
