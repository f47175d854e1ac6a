// A stress test that is not part of the suite: random snapshots of buffers, views, collections, classes and others, in random order. Isolates made
// from each of them must have what its scripts have left, also in optimized code. Only what the documentation names may be refused.
// `node __test__/stress/snapshots.mjs [--count 300] [--seed 1] [--odd]`, or the same with Bun or Deno. `--odd` adds what may be refused.

import { parseArgs } from 'node:util';
import { moduleEntry } from '../harness.mjs';
import { createRandom } from './life.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    odd: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
  strict: false,
});

const { default: ivm } = await import(moduleEntry);
const REFUSALS = /several views and properties|typed arrays and properties|both views and accessors|buffer smaller|cannot put into a snapshot/;

const ARRAYS = [
  'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array', 'Float64Array',
  'BigInt64Array', 'BigUint64Array',
];
const BYTES = { Int8: 1, Uint8: 1, Int16: 2, Uint16: 2, Int32: 4, Uint32: 4, Float3: 4, Float6: 8, BigInt: 8, BigUin: 8 };
const bytesOf = (name) => Object.entries(BYTES).find(([start]) => name.startsWith(start))[1];

/** Runs in the realm: describes a value, using the views' memory in ways that V8 optimizes. */
const LIBRARY = `
  globalThis.describe = (value, depth = 0) => {
    if (depth > 4) return '…';
    if (value instanceof ArrayBuffer) {
      return ['buffer', value.byteLength, value.maxByteLength, value.resizable, value.detached, value.detached ? '' : [...new Uint8Array(value)].join('.')].join();
    }
    if (ArrayBuffer.isView(value)) {
      let bytes = '';
      try {
        if (value instanceof DataView) for (let i = 0; i < value.byteLength; i += 1) bytes += value.getUint8(i) + '.';
        else for (let i = 0; i < value.length; i += 1) bytes += value[i] + '.';
        return [value.constructor.name, value.byteOffset, value.byteLength, bytes, Object.keys(value).filter((k) => isNaN(k)).join()].join();
      } catch (error) { return 'view: ' + error.name; }
    }
    if (typeof value === 'function') return 'function ' + value.name + (value.length);
    if (typeof value === 'symbol' || typeof value === 'bigint') return String(value);
    if (value instanceof Map || value instanceof Set) return value.constructor.name + [...value].map((each) => describe(each, depth + 1)).join('|');
    if (value instanceof RegExp) return String(value) + 'aab'.search(value);
    if (value instanceof Error) return value.name + value.message + typeof value.stack;
    if (value instanceof Date) return 'Date' + value.getTime();
    if (value instanceof WeakRef) return 'WeakRef' + describe(value.deref(), depth + 1);
    if (typeof value === 'object' && value !== null) {
      if (typeof value.self === 'function') return 'self ' + value.self();
      return '{' + Reflect.ownKeys(value).map((key) => String(key) + ':' + describe(value[key], depth + 1)).join() + '}';
    }
    return typeof value + String(value);
  };
`;

/** After everything was compared: each view is written and read in a function of its own, which V8 optimizes. */
const USE = `kept.filter((it) => ArrayBuffer.isView(it) && !it.buffer.detached && it.byteLength > 0).map((it) => {
  const bytes = new Uint8Array(it.buffer, it.byteOffset, 1);
  const kind = it[Symbol.toStringTag], big = /^Big/.test(kind), float = /^Float/.test(kind);
  const [get, set] = it instanceof DataView ? ['it.getUint8(0)', 'it.setUint8(0, value)'] : ['it[0]', 'it[0] = value'];
  const use = new Function('it', 'value', 'const before = ' + get + '; ' + set + '; return before');
  const one = big ? 7n : 7;
  it instanceof DataView ? it.setUint8(0, 7) : it[0] = one;
  const seen = new Set();
  for (let i = 0; i < 20_000; i += 1) seen.add(use(it, one));
  use(it, big ? 8n : 8);
  const ok = seen.size === 1 && seen.has(one) && (float || bytes[0] === 8);
  return ok ? '' : kind + [...seen].join() + bytes[0];
}).join('')`;

/** Statements that add to \`kept\`. */
function statements(random, odd) {
  const int = (limit) => Math.floor(random() * limit);
  const pick = (list) => list[int(list.length)];
  const size = () => pick([0, 1, 3, 8, 16, 24, 64, 100, 1000, 5000]);
  const fill = (name) => `new Uint8Array(${name}).forEach((_, i, all) => { all[i] = i * ${1 + int(250)} + ${int(256)} });`;
  const view = (buffer, length, tracking) => {
    if (int(3) === 0) {
      const at = int(length + 1);
      return `new DataView(${buffer}, ${at}${tracking && int(2) ? '' : `, ${int(length - at + 1)}`})`;
    }
    const name = pick(ARRAYS);
    const bytes = bytesOf(name);
    const whole = Math.floor(length / bytes);
    const at = int(whole + 1);
    return `new ${name}(${buffer}, ${at * bytes}, ${tracking && int(2) ? 'undefined' : int(whole - at + 1)})`.replace(', undefined)', ')');
  };
  const shuffled = (list) => list.map((each) => [random(), each]).toSorted((a, b) => a[0] - b[0]).map(([, each]) => each);
  const buffers = () => {
    const length = size();
    const resizable = int(2) === 0;
    const max = length + size();
    const tracking = resizable || length % 8 === 0;
    const lines = [`const b = new ArrayBuffer(${length}${resizable ? `, { maxByteLength: ${max} }` : ''});`, fill('b')];
    const names = ['b'];
    for (let n = int(4); n > 0; n -= 1) {
      lines.push(`const v${n} = ${view('b', length, tracking)};`);
      names.push(`v${n}`);
    }
    if (resizable && int(3) === 0) lines.push(`b.resize(${length + int(max - length + 1)});`);
    if (int(8) === 0) lines.push(`const d = b.${pick(['transfer()', 'transferToFixedLength()', `transfer(${length + (resizable ? 0 : 5)})`])};`, `kept.push(d, ${view('d', length, false)});`);
    if (int(4) === 0) lines.push(`b.name = ${pick(['5', "'text'", '0.5', 'null', 'Symbol.iterator'])};`);
    if (odd && names.length > 1 && int(2) === 0) {
      lines.push(pick(['b.v = v1;', 'b[0] = v1;', 'b.deep = { list: [v1] };', "Object.defineProperty(b, 'v', { get() { return v1 } });"]));
    }
    lines.push(`kept.push(${shuffled(names).slice(0, 1 + int(names.length)).join()});`);
    if (int(4) === 0) lines.push(`kept.push(new Map([[${names.at(-1)}, 1], ['a', ${names[0]}]]));`);
    if (int(4) === 0) lines.push(`kept.push({ self: () => describe(${names.at(-1)}) });`);
    if (int(6) === 0) lines.push(`weak.set(${names.at(-1)}, b);`);
    if (int(6) === 0) lines.push(`kept.push(new WeakRef(${names[0]}));`);
    return lines;
  };
  const others = [
    buffers, buffers, buffers, buffers,
    () => [`kept.push(new ${pick(ARRAYS)}(${pick([0, 1, 2, 7, 100])}));`],
    () => [`class A${int(9)} extends ${pick(ARRAYS)} { own = ${int(9)}; #p = 5; get p() { return this.#p } }`, `kept.push(new (class extends ${pick(ARRAYS)} { own = 1 })(${int(20)}));`],
    () => [`class B extends ArrayBuffer { name = 'own' }`, `const b = new B(${size()});`, 'kept.push(b, new Uint8Array(b));'],
    () => ['class C { #x = 1; static { this.s = new Map([[this, 2]]) } get x() { return this.#x } self() { return this.x + C.s.get(C) } }', 'kept.push(new C());'],
    () => [`kept.push(/${pick(['a+', '(?<n>a)b', '[^]', 'a{2}'])}/${pick(['', 'g', 'dy', 'iu', 'v'])});`, "kept.at(-1).test('aab');"],
    () => ["try { null.x } catch (error) { kept.push(error) }", "kept.push(new AggregateError([new RangeError('x', { cause: 5 })], 'all'));"],
    () => ["kept.push(Symbol('s'), Symbol.for('t'), 2n ** 100n, -0, NaN, 1e300, new Date(5), Object(1n), Object('s'));"],
    () => [`kept.push('a'.repeat(${int(5000)}) + ${int(99)}, 'ä€'.repeat(${int(300)}), ('x'.repeat(99) + kept.length).slice(3));`],
    () => ['function* g() { yield 1; yield 2 } const it = g(); it.next(); kept.push({ self: () => 2 });', 'keep(it);'],
    () => ['const p = Promise.resolve(5); (async () => { await p; await new Promise(() => {}) })(); keep(p);'],
    () => [`const a = []; a[${int(1e5)}] = 1; kept.push(a.length, [1.5, , 2], Array(${int(50)}).fill({}), Object.freeze({ a: { b: 1 } }));`],
    () => [`const o = Object.create(null); for (let i = 0; i < ${int(2000)}; i++) o['k' + i] = i; kept.push(o);`],
    () => ['keep(new Proxy({}, {})); keep(Proxy.revocable({}, {})); keep((function () { return arguments })(1, 2)); kept.push(((a) => a).bind(null, 1));'],
    () => ['const s = new Set([1, {}, [2]]); const i = s.values(); i.next(); keep(i); kept.push(s, new Set([s.size]));'],
    () => ['kept.push({ self: ((n) => () => ++n && "n")(1) }); keep(new WeakSet([{}])); keep(new WeakMap([[kept, {}]]));'],
    () => ['let hot = 0; const f = (x) => x % 7 + (hot = x); for (let i = 0; i < 20000; i++) f(i); kept.push(f);'],
    () => ['let l = null; for (let i = 0; i < 3000; i++) l = { l }; keep(l);'],
    () => ["kept.push(new Intl.NumberFormat('en').format(1234.5), (5).toLocaleString(), 'ä'.normalize('NFD'));"],
    () => ['kept.push(Object.assign(() => 1, { own: 1 })); label: { keep([...[1, 2].entries()], new Int32Array([1, 2]).values()) }'],
  ];
  const lines = [];
  for (let n = 3 + int(20); n > 0; n -= 1) lines.push(`{ ${pick(others)().join(' ')} }`);
  return lines;
}

const tally = new Map();
const count = (what) => tally.set(what, (tally.get(what) ?? 0) + 1);
let failures = 0;
const begin = Number(values.seed);
for (let seed = begin; seed < begin + Number(values.count); seed += 1) {
  const random = createRandom(seed);
  const body = statements(random, values.odd);
  const code = `'use strict'; globalThis.kept = []; globalThis.others = []; globalThis.weak = new WeakMap(); globalThis.keep = (...all) => { others.push(...all) };
    ${LIBRARY}\n${body.join('\n')}\nglobalThis.expected = kept.map((each) => describe(each));`;
  const fail = (what) => {
    failures += 1;
    console.log(`FAILED seed ${seed}: ${what}${values.verbose ? `\n${body.join('\n')}` : ''}`);
  };
  let snapshot;
  try {
    snapshot = ivm.Isolate.createSnapshot([{ code }], random() < 0.3 ? 'kept.map((each) => describe(each))' : undefined);
    count('made');
  } catch (error) {
    if (!(values.odd && REFUSALS.test(error.message))) fail(error.message);
    count(`refused: ${error.message}`);
    continue;
  }
  const isolate = new ivm.Isolate({ snapshot });
  try {
    for (const context of [isolate.createContextSync(), isolate.createContextSync()]) {
      const wrong = context.evalSync('kept.map((each, i) => describe(each) === expected[i] ? "" : i + " " + expected[i].slice(0, 300) + " became " + describe(each).slice(0, 300)).join("")');
      if (wrong !== '') fail(wrong);
      const bad = context.evalSync(USE);
      if (bad !== '') fail(bad);
      context.evalSync('for (const b of kept) if (b instanceof ArrayBuffer && b.resizable && !b.detached) { b.resize(0); b.resize(b.maxByteLength); new Uint8Array(b).fill(1) }');
    }
  } catch (error) {
    fail(error.stack);
  }
  isolate.dispose();
}
console.log(Object.fromEntries(tally));
console.log(failures === 0 ? 'ok' : `${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;
