// Writes golden.json: V8's own serialization of the expressions below. Run `node __test__/wire/golden.mjs` on a Node host. The file is
// checked in, so that hosts without V8's serializer (Bun) must produce the same bytes.
//
// `exact` marks the values for which the codec must write exactly the same bytes, except for the version. For the others, V8 decides by
// hidden state (the kind of an array's elements, the representation of a string) or puts buffers into the bytes.

import { writeFileSync } from 'node:fs';
import { Serializer } from 'node:v8';
import { evaluate } from './helper.mjs';

const exact = [
  'undefined', 'null', 'true', 'false', '0', '-0', '1', '-1', '63', '64', '-64', '-65', '8191', '8192', '2147483647',
  '-2147483648', '2147483648', '4294967295', '1.5', 'NaN', 'Infinity', '-Infinity', '5e-324', '1.7976931348623157e308',
  '0n', '1n', '-1n', '2n ** 63n', '2n ** 64n - 1n', '2n ** 64n', '-(2n ** 200n) - 12345n',
  '""', '"a"', '"caf\\u00e9"', '"\\u00ff"', '"\\u20ac"', '"a\\u20ac"', '"\\ud800"', '"x\\udfff\\ud83d\\ude00"', '"a".repeat(200)',
  '"\\u20ac".repeat(63)', '"\\u20ac".repeat(64)', '"\\u20ac".repeat(8192)', '"z".repeat(300)',
  '({})', '({ a: 1 })', '({ b: 1, a: 2, 10: 3, 9: 4 })', '({ "": 1, "-1": 2, "01": 3, "4294967294": 4, "4294967295": 5 })',
  '({ 2147483648: 1, 2147483647: 2 })', '({ "\\u20ac": 1, "caf\\u00e9": 2, "x\\ud800": 3 })', '({ a: "\\u20ac", b: "\\u20ac\\u20ac" })',
  'JSON.parse(\'{"__proto__":{"x":1},"constructor":2,"toString":3}\')',
  '[]', '[1, 2, 3]', '["a", null, true, undefined]', '[1, , 3]', '[, , ,]', '[undefined, , undefined]', '[[], [[]], {}]',
  'Object.assign([1, 2], { x: "y", "-1": 0 })', 'Object.assign([1, , 2], { x: "y" })', 'new Array(1e6)',
  '(() => { const a = []; a[4294967294] = 1; return a; })()', '(() => { const a = [,]; a.length = 5; return a; })()',
  'new Date(0)', 'new Date(-1)', 'new Date(NaN)', 'new Date(8640000000000000)', '/a/', '/[/]\\n/gimsuy', '/x/d', '/\\u20ac/', '/[\\p{L}--a]/v',
  'new Map()', 'new Map([[1, "a"], ["b", {}], [{}, new Map()]])', 'new Set()', 'new Set([1, "a", {}, new Set([1])])',
  'new Boolean(true)', 'new Boolean(false)', 'new Number(-0)', 'new Number(7)', 'new String("a")', 'new String("\\u20ac")', 'Object(12n)', 'Object(-(2n ** 70n))',
  '(() => { const o = {}; return [o, o, { o }]; })()', '(() => { const o = { a: {} }; o.self = o; o.a.up = o; return o; })()',
  '(() => { const m = new Map(); m.set(m, m); return m; })()', '(() => { const s = new Set(); s.add(s); return s; })()',
  '(() => { const d = new Date(5), r = /q/; return [d, r, d, r, new String("s")]; })()',
  '(() => { let d = 1; for (let i = 0; i < 200; i++) d = i % 2 ? [d, i] : { d, i }; return d; })()',
  'Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } })', 'Object.assign(Object.create(null), { a: 1 })',
  '({ [Symbol("s")]: 1, a: 2 })', 'new (class A { b = 1; c = "d"; })()',
];

const stackless = (text) => `(() => { const e = ${text}; Object.defineProperty(e, 'stack', { value: 'at home' }); return e; })()`;
for (const name of ['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']) {
  exact.push(stackless(`new ${name}("m")`));
}
exact.push(
  stackless('new Error()'), stackless('new Error("\\u20ac")'), stackless('new AggregateError([1], "m")'),
  stackless('Object.assign(new Error("m"), { name: "TypeError", code: 1 })'), stackless('new (class Special extends RangeError {})("m")'),
  '(() => { const e = new Error("m"); Object.defineProperty(e, "stack", { value: 5 }); return e; })()',
);
// The order of an error's parts differs between versions.
const errorsWithCause = [
  stackless('new Error("m", { cause: { a: [1] } })'), stackless('new Error("m", { cause: undefined })'),
  stackless(`new TypeError("m", { cause: ${stackless('new RangeError("n")')} })`),
];
const readOnly = [
  ...errorsWithCause,
  '[1, 1.5, -0]', 'new ArrayBuffer(0)', 'new Uint8Array([1, 2, 3]).buffer', 'new Int8Array([-1, 2])', 'new Uint8Array([1, 255])', 'new Uint8ClampedArray([1, 255])',
  'new Int16Array([-2, 3])', 'new Uint16Array([65535])', 'new Int32Array([-5])', 'new Uint32Array([4294967295])', 'new Float32Array([0.5])',
  'new Float64Array([Math.PI, -0])', 'new BigInt64Array([-1n])', 'new BigUint64Array([2n ** 64n - 1n])', 'new DataView(new ArrayBuffer(4), 1, 2)',
  'new Uint16Array(new Uint8Array([1, 2, 3, 4, 5, 6]).buffer, 2, 1)',
  '(() => { const b = new ArrayBuffer(8); return [new Uint8Array(b), b, new Uint16Array(b, 2), new DataView(b)]; })()',
  'new ArrayBuffer(3, { maxByteLength: 9 })', 'new Uint8Array(new ArrayBuffer(3, { maxByteLength: 9 }))',
  'new Uint8Array(new ArrayBuffer(3, { maxByteLength: 9 }), 1, 2)', 'new DataView(new ArrayBuffer(3, { maxByteLength: 9 }), 1)',
];

function bytesOf(expression) {
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(evaluate(expression));
  return serializer.releaseBuffer().toString('hex');
}

const entries = [
  ...exact.map((expression) => ({ expression, exact: true, bytes: bytesOf(expression) })),
  ...readOnly.map((expression) => ({ expression, exact: false, bytes: bytesOf(expression) })),
];
// V8 9 and 10 write this order: the cause before the stack.
entries.push({
  expression: stackless('new Error("m", { cause: 1 })'),
  exact: false,
  bytes: `ff0f726d22016d63490273${Buffer.from('"\x07at home').toString('hex')}2e`,
});
const file = new URL('golden.json', import.meta.url);
writeFileSync(file, `[\n${entries.map((entry) => JSON.stringify(entry)).join(',\n')}\n]\n`);
console.log(`${entries.length} values written by V8 ${process.versions.v8}`);
