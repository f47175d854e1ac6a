// Built-in functions that do not check whether they must stop.

export const group = 'built-ins';
export const defaults = { ends: 'unresponsive', memory: 16 };

/** V8 checks for termination every few hundred iterations of a loop, as long as the loop is not optimized. */
const SLOW = ['timeout', 'unresponsive'];

const HUGE = '{ length: 2 ** 53 - 1 }';
/** The names of these indices fill a heap that is collected slowly. */
const of = (name, rest = '', ends = ['unresponsive', 'memory']) =>
  ({ name: `${name} of a huge array-like`, code: `Array.prototype.${name}.call(${HUGE}${rest})`, ends });

export const programs = [
  of('lastIndexOf', ', 1'),
  of('indexOf', ', 1'),
  of('includes', ', 1'),
  of('reverse'),
  of('shift'),
  of('unshift', ', 1', 'TypeError: Invalid array length'),
  of('splice', ', 0, 1'),
  of('slice', ', 0, 2 ** 31'),
  of('copyWithin', ', 0, 1'),
  of('every', ', Object'),
  of('find', ', Boolean', 'timeout'),
  of('fill', ', 1', ['unresponsive', 'memory']),
  of('join', ", ''", 'TypeError: Invalid array length'),
  of('toLocaleString', '', 'TypeError: Invalid array length'),
  of('sort', '', 'memory'),
  of('concat', '', 'value undefined'),
  { name: 'join of a long array', code: 'const a = []; a.length = 2 ** 32 - 1; return a.join("").length', ends: 'value 0' },
  { name: 'indexOf of a sparse array', code: 'const a = []; a[2 ** 32 - 2] = 1; return a.indexOf(2)' },
  { name: 'Array.from of a length', code: 'Array.from({ length: 2 ** 32 - 1 })', ends: ['unresponsive', 'memory'] },
  { name: 'String.raw', code: 'String.raw({ raw: { length: 2 ** 53 - 1 } })', ends: ['unresponsive', 'memory'] },
  { name: 'Reflect.apply with a huge length', code: 'Reflect.apply(Math.max, null, { length: 2 ** 32 - 1 })', ends: 'RangeError: Invalid array length' },
  { name: 'Function.prototype.apply with a long list', code: 'Math.max.apply(null, { length: 2 ** 20 })', ends: 'RangeError: Maximum call stack size exceeded', timeout: 3_000 },
  { name: 'lastIndexOf of a string', code: 'return "a".repeat(2 ** 23).lastIndexOf("a".repeat(2 ** 22) + "b")', ends: SLOW },
  { name: 'indexOf of a string', code: 'return "a".repeat(2 ** 23).indexOf("b" + "a".repeat(2 ** 22))', ends: ['value -1', ...SLOW] },
  { name: 'includes of a bad pattern, again and again', code: 'const s = "ab".repeat(2 ** 20), p = "ab".repeat(2 ** 12) + "aa"; for (;;) s.includes(p);', ends: SLOW },
  { name: 'a typed array that is sorted', memory: 128, code: 'const a = new Float64Array(2 ** 22); for (let i = 0; i < a.length; i += 4096) a[i] = -i; for (;;) a.sort();', ends: SLOW },
  { name: 'fill of a typed array', memory: 128, code: 'const a = new Uint8Array(2 ** 26); for (;;) a.fill(1);', ends: SLOW },
  { name: 'indexOf of a typed array', memory: 128, code: 'const a = new Uint8Array(2 ** 26); for (;;) a.indexOf(1);', ends: SLOW },
  // Nearly all of the time is spent in the C library.
  { name: 'copyWithin without a loop', memory: 80, peak: 320, code: `const a = new Uint8Array(2 ** 26).fill(1); ${'a.copyWithin(1, 0); '.repeat(5_000)}`, ends: SLOW, timeout: 500 },
  { name: 'fill without a loop', memory: 80, peak: 320, code: `const a = new Uint8Array(2 ** 26); ${'a.fill(1); '.repeat(5_000)}`, ends: SLOW, timeout: 500 },
  { name: 'set of a typed array from an array-like', code: 'new Uint8Array(9).set({ length: 2 ** 53 - 1 })', ends: 'RangeError: offset is out of bounds' },
  { name: 'a typed array from an array-like', code: 'new Uint8Array({ length: 2 ** 31 })', ends: 'RangeError: Array buffer allocation failed' },
  { name: 'Object.fromEntries', code: 'Object.fromEntries({ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: ["x", 1] }) }) })', ends: 'timeout' },
  { name: 'toReversed', code: 'Array.prototype.toReversed.call({ length: 2 ** 32 - 1 })', ends: ['unresponsive', 'memory'] },
  { name: 'a Set method with a huge size', code: 'new Set([1]).union({ size: Infinity, has: () => true, keys: () => ({ next: () => ({ done: false, value: 1 }) }) })', ends: 'timeout' },
];
