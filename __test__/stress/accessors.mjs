// A stress test that is not part of the suite: random programs that define, use and replace accessors and closures of objects of many shapes, while
// the young generation is collected again and again. Each runs in isolates and in the host, with the same result. V8 creates both in its young
// generation here (src/engine/generations.rs). `node __test__/stress/accessors.mjs [--seconds 60] [--seed 1]`, or the same with Bun or Deno.

import { parseArgs } from 'node:util';
import { runInNewContext } from 'node:vm';
import { moduleEntry } from '../harness.mjs';
import { createRandom } from './life.mjs';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } } });
const LIMITS_MB = [16, 32, 64];

/** Runs in guests and in the host. Returns a checksum of all that it has read. */
function program(makeRandom, seed) {
  const random = makeRandom(seed);
  const below = (limit) => Math.floor(random() * limit);
  const names = ['a', 'b', 'c', 'value', 'get', 'set', '0', '5', '100'];
  const isIndex = (name) => name >= '0' && name <= '9';
  const loads = names.map((name) => Function('object', isIndex(name) ? `return object[${name}]` : `return object.${name}`));
  const stores = names.map((name) => Function('object', 'value', isIndex(name) ? `object[${name}] = value` : `object.${name} = value`));
  const anyName = () => names[below(names.length)];
  let sum = 0;
  const add = (value) => {
    const word = typeof value === 'number' ? value : typeof value === 'string' ? value.length : (typeof value).length;
    sum = (Math.imul(sum, 31) + word) | 0;
  };
  class Base {
    #kept = 3;
    get #inner() { return this.#kept + 1; }
    set #inner(value) { this.#kept = value; }
    get outer() { return this.#inner; }
    set outer(value) { this.#inner = value; }
  }
  const accessorOf = (start) => {
    let kept = start;
    return { get: () => kept, set(value) { kept = value; }, configurable: true, enumerable: below(2) === 0 };
  };
  const makers = [
    (index) => { let kept = index; return { get a() { return kept; }, set a(value) { kept = value; }, [`b${index % 7}`]: index }; },
    (index) => Object.defineProperty({ [`own${below(50)}`]: index }, anyName(), accessorOf(index)),
    (index) => new (class extends Base { get value() { return index + super.outer; } set value(value) { super.outer = value; } get [anyName()]() { return index; } })(),
    (index) => Object.create(Object.defineProperty({}, 'c', accessorOf(index)), { b: accessorOf(index) }),
    (index) => { let kept = index; return class { static [`own${below(50)}`] = index; static get a() { return kept; } static set a(value) { kept = value; } }; },
    (index) => Object.defineProperty(Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`p${at + (index % 3)}`, at])), 'value', accessorOf(index)),
    (index) => Object.defineProperty([1, 2, 3], below(8), accessorOf(index)),
    (index) => { const object = { kept: index, set value(value) { object.kept = value; } }; object.method = () => index; return object; },
  ];
  const make = (index) => makers[below(makers.length)](index);
  const objects = Array.from({ length: 60 }, (_, index) => make(index));
  const actions = [
    (object) => add(loads[below(names.length)](object)),
    (object) => add(loads[below(names.length)](object)),
    (object, step) => stores[below(names.length)](object, step % 1000),
    (object) => add(object[anyName()]),
    (object, step) => { object[anyName()] = step % 100; },
    (object, step) => Object.defineProperty(object, anyName(), accessorOf(step)),
    (object) => add(Object.keys({ ...object }).length),
    (object) => add(JSON.stringify(object) ?? ''),
    (object) => { delete object[anyName()]; },
    (object) => add(Object.getOwnPropertyDescriptor(object, anyName())?.get?.call(object)),
    (object) => { if (below(10) === 0) Object.freeze(object); },
    (object) => add(Reflect.get(object, anyName(), objects[below(objects.length)])),
    (_, step) => { objects[below(objects.length)] = make(step % 977); },
    (object) => add(typeof object.method === 'function' ? object.method() : 0),
  ];
  let garbage = [];
  for (let step = 0; step < 60_000; step += 1) {
    try {
      actions[below(actions.length)](objects[below(objects.length)], step);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      add('TypeError');
    }
    for (let index = step % 6 === 0 ? 40 : 0; index > 0; index -= 1) garbage.push([step + 0.5, { index }]);
    if (garbage.length > 4000) garbage = [];
  }
  return sum;
}

const { default: ivm } = await import(moduleEntry);
const end = Date.now() + Number(values.seconds) * 1000;
let runs = 0;
for (let seed = Number(values.seed); Date.now() < end; seed += 1) {
  const code = `(${program})(${createRandom}, ${seed})`;
  const expected = runInNewContext(code);
  const isolate = new ivm.Isolate({ memoryLimit: LIMITS_MB[seed % LIMITS_MB.length] });
  for (let round = 0; round < 2; round += 1) {
    const found = isolate.createContextSync().evalSync(code, { timeout: 60_000 });
    if (found !== expected) throw new Error(`seed ${seed}: ${found} instead of ${expected}`);
  }
  isolate.dispose();
  runs += 1;
}
console.log(`ok: ${runs} programs`);
process.exit(0);
