// V8 creates closures that are assigned to properties, and records of accessors, in its old generation, where they keep alive what they refer to
// until all of the heap is collected. The library makes it create them in the young one, on Linux (src/engine/generations.rs).

import { test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

const ROUNDS = 100;
/** Bytes of garbage of each round. */
const GARBAGE = 160_000;

for (const [kind, assign] of [
  ['a closure that is assigned to a property', 'holder.method = () => data'],
  ['a closure that is assigned to an element', 'holder[0] = function () { return data; }'],
  ['an accessor', "Object.defineProperty(holder, 'name', { get: () => data, set(value) { data.length = value; }, configurable: true })"],
  ['an accessor of an object with many properties', "for (let index = 0; index < 200; index += 1) holder['p' + index] = index; Object.defineProperty(holder, 'name', { get: () => data })"],
]) {
  test(`${kind} does not keep what it refers to`, { skip: process.platform !== 'linux' }, () => passes(`
    const used = () => isolate.getHeapStatisticsSync().used_heap_size;
    const script = isolate.compileScriptSync(\`(() => {
      const data = Array.from({ length: ${GARBAGE / 80} }, (_, index) => ({ index }));
      const holder = {};
      ${assign};
      return (holder.method?.() ?? holder[0]?.() ?? holder.name).length;
    })()\`);
    for (let round = 0; round < 20; round += 1) script.runSync(context);
    const before = used();
    let most = 0;
    for (let round = 0; round < ${ROUNDS}; round += 1) {
      assert.equal(script.runSync(context), ${GARBAGE / 80});
      most = Math.max(most, used() - before);
    }
    assert.ok(most < ${ROUNDS * GARBAGE} / 4, most + ' bytes');`, { options: '{ memoryLimit: 32 }' }));
}

test('accessors and closures work before and after collections', () => passes(`
  const script = \`(() => {
    const made = [];
    for (let index = 0; index < 3000; index += 1) {
      let value = index;
      const object = {};
      Object.defineProperty(object, 'both', { get: () => value, set(next) { value = next; }, enumerable: true, configurable: true });
      Object.defineProperty(object, 'read', { get: () => -value });
      Object.defineProperty(object, 'write', { set(next) { value = next * 2; }, configurable: true });
      object.method = () => [value, object.both];
      object.own = { get a() { return value; }, set a(next) { value = next + 1; }, get [index]() { return 'i' + value; } };
      class Thing { get kind() { return index; } static set made(next) { value = next; } }
      object.thing = new Thing();
      made.push(object);
      new Array(100).fill(index);
    }
    const problems = [];
    made.forEach((object, index) => {
      const both = Object.getOwnPropertyDescriptor(object, 'both');
      const write = Object.getOwnPropertyDescriptor(object, 'write');
      if (object.both !== index || object.read !== -index || object.write !== undefined || object.own.a !== index || object.own[index] !== 'i' + index) problems.push(index);
      if (typeof both.get !== 'function' || typeof both.set !== 'function' || write.get !== undefined || typeof write.set !== 'function') problems.push(index);
      object.both = index + 1;
      if (object.method().join() !== [index + 1, index + 1].join()) problems.push(index);
      object.write = index;
      object.own.a += 1;
      if (object.both !== index * 2 + 2 || object.thing.kind !== index) problems.push(index);
      Object.defineProperty(object, 'both', { get: undefined });
      if (object.both !== undefined || Object.getOwnPropertyDescriptor(object, 'both').set !== both.set) problems.push(index);
    });
    return problems.join();
  })()\`;
  for (let round = 0; round < 4; round += 1) assert.equal(context.evalSync(script), '');`, { options: '{ memoryLimit: 32 }' }));

// A place in the code that sees many shapes finds accessors in V8's stub caches, which collections of the young generation neither clear nor update.
test('accessors are found at places that see many shapes, before and after collections', () => passes(`
  const script = \`(() => {
    const shapes = 64;
    const name = 'val' + 'ue';
    const read = [(object) => object.value, (object) => object[name], (object) => Reflect.get(object, 'value'), ({ value }) => value];
    const write = [(object, value) => { object.value = value; }, (object, value) => { object[name] = value; }, (object, value) => Object.assign(object, { value })];
    const make = (index) => {
      let kept = index;
      const object = { ['own' + index]: index };
      return Object.defineProperty(object, 'value', { get: () => kept, set(next) { kept = next; }, configurable: true, enumerable: true });
    };
    const makeClass = (index) => {
      let kept = index;
      return class { static ['own' + index] = index; static get value() { return kept; } static set value(next) { kept = next; } };
    };
    const collect = () => {
      for (let garbage = [], index = 0; index < 20_000; index += 1) {
        garbage.push([1.5, 2.5, index]);
        if (garbage.length > 300) garbage = [];
      }
    };
    let wrong = 0;
    for (let round = 0; round < 20; round += 1) {
      const objects = Array.from({ length: shapes }, (_, index) => (round % 4 === 0 ? makeClass : make)(index));
      for (let turn = 0; turn < 6; turn += 1) {
        for (const [index, object] of objects.entries()) {
          for (const get of read) wrong += get(object) !== index + turn;
          for (const set of write) set(object, index + turn + 1);
        }
        collect();
      }
    }
    return wrong;
  })()\`;
  for (let round = 0; round < 3; round += 1) assert.equal(context.evalSync(script), 0);`, { options: '{ memoryLimit: 64 }' }));
