// Bodies of the loops. The writer replaces COUNT, ARRAY, TYPED, TEXT, VALUE and FRESH; `n` is the counter.
// Each body is fast by itself: built-ins that ignore a termination for long are known and documented.

/** Values of every kind. `warm` calls something until V8 has had time to optimize it. */
export const PRELUDE = `'use strict';
let sink;
const smis = [5, 3, 9, 1, 7, 2, 8, 4];
const doubles = [1.5, 2.5, -0, NaN, 4.25];
const holes = [1, , 3, , 5];
const holeyDoubles = [1.5, , 2.5];
const objects = [{ a: 1 }, { a: 2, b: 3 }, { b: 1 }];
const texts = ['a', 'bc', 'def'];
const dictionary = Object.assign([], { 0: 1, 5000: 2, 100000: 3 });
const frozen = Object.freeze([1, 2, 3]);
const bytes = new Uint8Array(64), clamped = new Uint8ClampedArray(33), words = new Int16Array(16), floats = new Float32Array(40);
const doublesTyped = new Float64Array(24), longs = new Float64Array(new SharedArrayBuffer(64)), shared = new Int32Array(new SharedArrayBuffer(64));
const tracking = new Int32Array(new ArrayBuffer(32, { maxByteLength: 64 }));
const view = new DataView(new ArrayBuffer(64));
const text = 'the quick brown fox', wide = 'wide \\u20ac text \\ud83d\\ude00', rope = text + wide + text;
const pair = { a: 1, b: 2.5 }, inherits = Object.create(pair), map = new Map([[1, 2], ['a', {}]]), set = new Set([1, 'b', pair]);
class Base { x = 1; get y() { return this.x; } set y(value) { this.x = value; } m() { return this.x; } static s = 4; }
class Derived extends Base { #p = 2; m() { return super.m() + this.#p; } }
const instance = new Derived(), plain = new Base();
const proxy = new Proxy({ a: 1 }, { get: (target, key) => target[key] });
const bound = function (a, b) { return a + b; }.bind(null, 1);
const own = { [Symbol.iterator]() { let i = 0; return { next: () => ({ done: i++ > 4, value: i }), return() { return {}; } }; } };
function* few() { for (let i = 0; i < 5; i++) yield i; }
function* many(end) { for (let i = 0; i !== end; i++) yield i; }
function add(a, b) { return a + b; }
function rest(...args) { return args.length; }
function sloppy() { return arguments.length; }
const warm = (run) => { const end = Date.now() + 50; let turns = 0; do { for (let i = 0; i < 20; i++) run(); } while (++turns < 5000 && Date.now() < end); };`;

export const BODIES = [
  // Arrays that are made.
  'sink = new Array(COUNT).fill(VALUE);', 'sink = Array(COUNT);', 'sink = new Array(COUNT);', 'sink = Array.from({ length: COUNT }, (_, i) => i);',
  'sink = Array.from(ARRAY);', 'sink = Array.of(n, VALUE, VALUE);', 'sink = [...ARRAY];', 'sink = [n, VALUE, ...ARRAY, VALUE];', 'sink = [VALUE, VALUE];',
  'sink = [...Array(COUNT).keys()];', 'const FRESH = new Array(COUNT); sink = FRESH.length;', 'const [FRESH] = ARRAY; sink = FRESH;',
  'const [, ...FRESH] = ARRAY; sink = FRESH;', 'const FRESH = []; FRESH.push(VALUE); FRESH.push(VALUE, n); sink = FRESH.pop();',
  // Arrays that are read.
  'sink = ARRAY.map((each) => each);', 'sink = ARRAY.map(add);', 'sink = ARRAY.filter(Boolean);', 'ARRAY.forEach((each) => { sink = each; });', 'sink = smis.reduce(add);',
  'sink = doubles.reduceRight(add, n);', 'sink = ARRAY.some((each) => each === n);', 'sink = ARRAY.every((each) => each !== n);', 'sink = ARRAY.find((each) => each === VALUE);',
  'sink = ARRAY.findIndex((each) => each === n);', 'sink = ARRAY.findLast((each) => each === n);', 'sink = ARRAY.indexOf(VALUE);', 'sink = ARRAY.lastIndexOf(n);',
  'sink = ARRAY.includes(VALUE);', 'sink = ARRAY.slice();', 'sink = ARRAY.slice(1, 3);', 'sink = ARRAY.concat(ARRAY);', 'sink = ARRAY.concat(VALUE, [n]);', 'sink = ARRAY.at(-1);',
  'sink = ARRAY[n & 7];', 'sink = ARRAY.length;', 'sink = smis.join();', 'sink = texts.join("-");', 'sink = smis.toSorted();', 'sink = doubles.toReversed();', 'sink = smis.with(1, n);',
  'sink = smis.toSpliced(1, 1, n);', 'sink = [smis, [doubles]].flat(2);', 'sink = smis.flatMap((each) => [each, each]);', 'for (const each of ARRAY) sink = each;',
  'for (let i = 0; i < smis.length; i++) sink = smis[i] + n;', 'for (let i = doubles.length; i--;) n += doubles[i] > 1 ? 1 : 0;', 'sink = Array.isArray(ARRAY);', 'sink = Object.groupBy(smis, (each) => each & 1);',
  // Arrays that are written to.
  'smis[n & 7] = n & 1023;', 'doubles[n % 5] = n / 2;', 'holes[n & 3] = VALUE;', 'const FRESH = [1, 2, 3]; FRESH.fill(VALUE); sink = FRESH;', 'const FRESH = [...smis]; FRESH.sort((a, b) => a - b); sink = FRESH;',
  'const FRESH = smis.slice(); FRESH.reverse(); sink = FRESH;', 'const FRESH = smis.slice(); FRESH.splice(1, 2, VALUE); sink = FRESH;', 'const FRESH = smis.slice(); FRESH.copyWithin(0, 3); sink = FRESH;',
  'const FRESH = smis.slice(); FRESH.shift(); FRESH.unshift(n); sink = FRESH;', 'const FRESH = []; for (let i = 0; i < COUNT; i++) FRESH[i] = VALUE; sink = FRESH;', 'const FRESH = [1]; FRESH.length = 0; sink = FRESH;',
  'const FRESH = new Array(COUNT); for (let i = 0; i < COUNT; i++) FRESH[i] = i; sink = FRESH;', 'const FRESH = [3]; FRESH[5] = n; delete FRESH[0]; sink = FRESH;',
  // Typed arrays and buffers.
  'TYPED[n & 7] = n;', 'sink = TYPED[n & 7];', 'TYPED.fill(n & 7);', 'sink = TYPED.slice();', 'sink = TYPED.subarray(1, 3);', 'TYPED.set([1, 2, 3]);', 'bytes.set(clamped);', 'TYPED.copyWithin(2, 0, 4);', 'sink = TYPED.indexOf(3);',
  'sink = TYPED.includes(n);', 'sink = TYPED.map((each) => each + 1);', 'TYPED.sort();', 'TYPED.reverse();', 'sink = TYPED.reduce(add);', 'sink = TYPED.join();', 'sink = new Uint8Array(COUNT);', 'sink = new Float64Array(COUNT);',
  'sink = new Uint8Array([1, n, 3]);', 'sink = new Int32Array(TYPED);', 'sink = Uint8Array.from(smis);', 'sink = new BigInt64Array(COUNT);', 'view.setFloat64(n & 7, n, true);', 'sink = view.getUint32(n & 15);', 'sink = view.getBigInt64(8);',
  'for (let i = 0; i < bytes.length; i++) bytes[i] = i ^ n;', 'for (let i = 0; i < 64; i++) sink = bytes[i] + n;', 'Atomics.add(shared, n & 7, 1);', 'sink = Atomics.load(shared, 0);', 'Atomics.compareExchange(shared, 1, n, 2);', 'sink = new ArrayBuffer(COUNT).byteLength;',
  'tracking.buffer.resize(n & 1 ? 32 : 64);', 'sink = bytes.buffer.slice(1, 9);',
  // Text and regular expressions.
  'sink = TEXT.charCodeAt(n & 7);', 'sink = TEXT[n & 15];', 'sink = TEXT.indexOf("fox");', 'sink = TEXT.lastIndexOf("q");', 'sink = TEXT.includes("brown");', 'sink = TEXT.startsWith("the");', 'sink = TEXT.split(" ");', 'sink = TEXT.split("");',
  'sink = TEXT.replace("o", "0");', 'sink = TEXT.replaceAll("o", "0");', 'sink = TEXT.replace(/o(.)/g, (all, one) => one);', 'sink = TEXT.padStart(COUNT, "ab");', 'sink = "ab".repeat(COUNT);', 'sink = TEXT + n;', 'sink = `${n}-${TEXT}`;', 'sink = TEXT.toUpperCase();',
  'sink = TEXT.trim();', 'sink = TEXT.normalize("NFD");', 'sink = TEXT.codePointAt(3);', 'for (const each of TEXT) sink = each;', 'sink = [...TEXT];', 'sink = String.fromCharCode(n & 1023, 65);', 'sink = TEXT === rope;', 'sink = TEXT < wide;', 'sink = TEXT.localeCompare(wide);', 'sink = TEXT.at(-2);', 'sink = TEXT.concat(n, text);',
  'sink = /(\\w+)\\s(\\w+)/.exec(TEXT);', 'sink = /x*y/.test(TEXT);', 'sink = TEXT.match(/\\w+/g);', 'sink = [...TEXT.matchAll(/o/g)];', 'sink = TEXT.search(/b/);', 'sink = /(?:a|ab)+c/y.test(TEXT);', 'sink = TEXT.split(/[aeiou]/);', 'sink = /(?<=q)u/u.exec(TEXT);', 'let FRESH = ""; for (let i = 0; i < COUNT; i++) FRESH += "x"; sink = FRESH;',
  'sink = parseInt(TEXT, 36);', 'sink = Number("12" + (n & 7));', 'sink = String(n);', 'sink = n.toString(16);', 'sink = (n / 7).toFixed(2);', 'sink = encodeURIComponent(TEXT);', 'sink = JSON.stringify(pair);', 'sink = JSON.parse(\'{"a":[1,2,{"b":null}]}\');', 'sink = JSON.stringify(ARRAY);',
  // Numbers.
  'n = (n * 3) | 0;', 'sink = Math.sqrt(n) + Math.abs(-n);', 'sink = Math.max(n, 3, 5);', 'sink = Math.max(...smis);', 'sink = Math.random();', 'sink = Math.imul(n, 7) >>> 1;', 'sink = Math.floor(n / 3) % 7;', 'sink = n ** 2;', 'sink = Math.hypot(n, 4);', 'sink = Math.clz32(n);', 'sink = n % 3 ? n / 2 : -n;', 'sink = BigInt(n | 0) * 3n;',
  'sink = 10n ** 20n % 7n;', 'sink = BigInt.asUintN(64, BigInt(n | 0));', 'sink = Date.now();', 'sink = new Date(n).getTime();', 'sink = isNaN(n);', 'sink = Number.isInteger(n);', 'sink = n >>> 0 === n;',
  // Objects, classes, calls.
  'sink = { a: n, b: VALUE };', 'sink = { ...pair, c: n };', 'const { a: FRESH } = pair; sink = FRESH;', 'const { a: FRESH, ...FRESHrest } = pair; sink = FRESH;', 'pair.a = n;', 'pair["b"] = VALUE;', 'sink = objects[n % 3].a;', 'sink = inherits.a;', 'sink = Object.keys(pair);', 'sink = Object.entries(pair);', 'sink = Object.values(instance);',
  'sink = Object.assign({}, pair);', 'sink = Object.fromEntries([["a", n]]);', 'sink = Object.create(pair);', 'sink = Object.freeze({ n });', 'sink = "a" in pair;', 'sink = pair.hasOwnProperty("a");', 'sink = Object.hasOwn(pair, "z");', 'for (const key in pair) sink = pair[key];', 'const FRESH = { n }; delete FRESH.n; sink = FRESH;', 'sink = { get g() { return n; } }.g;',
  'sink = new Base();', 'sink = new Derived().m();', 'sink = instance.m();', 'plain.y = n; sink = plain.y;', 'sink = instance instanceof Base;', 'sink = Base.s;', 'sink = proxy.a;', 'sink = Reflect.get(pair, "a");', 'sink = Reflect.ownKeys(pair);', 'sink = Reflect.apply(add, null, [n, 1]);', 'sink = Reflect.construct(Base, []);', 'sink = typeof n;',
  'sink = add(n, 1);', 'sink = add.call(null, n, 2);', 'sink = add.apply(null, smis);', 'sink = bound(n);', 'sink = rest(...smis);', 'sink = rest(n, 2, 3);', 'sink = sloppy(...doubles, n);', 'sink = ((a, b = n) => a + b)(1);', 'sink = (() => n)();', 'sink = ((a) => () => a)(n)();',
  'sink = pair?.a ?? n;', 'sink = Symbol("s").description;', 'sink = new WeakRef(pair).deref();', 'sink = globalThis.undefinedName;', 'sink = new Error("e").message;', 'try { null.x; } catch (error) { sink = error; }', 'try { throw n; } catch (thrown) { sink = thrown; } finally { n += 1; }', 'try { sink = n; } finally { n += 1; }',
  // Collections, iterators, generators, promises.
  'sink = map.get(1);', 'map.set(n & 7, n);', 'sink = map.has("a");', 'map.delete(n & 7);', 'for (const [key, value] of map) sink = key;', 'map.forEach((value) => { sink = value; });', 'set.add(n & 15);', 'sink = set.has(n);', 'for (const each of set) sink = each;', 'sink = new Map([[1, n]]);', 'sink = new Set(smis);', 'sink = [...set];', 'sink = new WeakMap([[pair, n]]).get(pair);',
  'sink = set.union(new Set([n]));', 'sink = set.isSubsetOf(map);', 'for (const each of few()) sink = each;', 'sink = [...few()];', 'sink = few().next();', 'sink = few().map((each) => each + 1).toArray();', 'for (const each of own) { sink = each; if (each === 2) break; }', 'const [FRESH, FRESHb] = few(); sink = FRESH + FRESHb;', 'sink = smis.entries().next();', 'sink = smis[Symbol.iterator]().next();',
  'sink = Iterator.from(own).filter(Boolean).toArray();', 'sink = Promise.resolve(n);', 'sink = (async () => n)();', 'sink = Symbol.for("x");', 'sink = Math.sumPrecise?.(doubles);',
];
