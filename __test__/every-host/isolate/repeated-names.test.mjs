// Objects whose names come again and again: guests read them with a template of the names (src/convert/small_value.rs). They are no different from
// those that V8 reads.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** What guests say about a value: everything that they can see. */
const DESCRIBE = `
  const describe = (value) => {
    if (Array.isArray(value)) return '[' + value.map(describe) + ']' + Object.getPrototypeOf(value).constructor.name;
    if (typeof value !== 'object' || value === null) return typeof value + (Object.is(value, -0) ? '-0' : String(value));
    return '{' + Reflect.ownKeys(value).map((key) => {
      const { value: part, ...flags } = Object.getOwnPropertyDescriptor(value, key);
      return key + JSON.stringify(flags) + describe(part);
    }) + '}' + Object.prototype.toString.call(value) + (Object.getPrototypeOf(value) === Object.prototype) + Object.isExtensible(value);
  };`;

/** For the program: \`check(make)\` passes objects to a guest as arguments and as results of callbacks, many times, and compares what it sees. */
const CHECK = `
  ${DESCRIBE}
  let next;
  context.global.setSync('give', new ivm.Callback(() => next));
  context.evalSync(${JSON.stringify(DESCRIBE)});
  const describeArgument = context.evalSync('(value) => describe(value)', { reference: true });
  const describeResult = context.evalSync('() => describe(give())', { reference: true });
  const check = (value) => {
    next = value;
    const expected = describe(Array.isArray(value) ? value : { ...value });
    assert.equal(describeArgument.applySync(undefined, [value], { arguments: { copy: true } }), expected);
    assert.equal(describeResult.applySync(undefined, []), expected);
  };`;

describe('objects with repeated names', () => {
  test('have the same properties as others', () => passes(`${CHECK}
    const shapes = [
      (i) => ({ id: i }), (i) => ({ id: i, name: 'n' + i, ok: i % 2 === 0, none: null, nothing: undefined }), (i) => ({ id: i, keys: ['a', 'b', i] }),
      (i) => ({ id: i, at: { x: i, y: { z: [i, { id: i }] } } }), (i) => [{ id: i }, { id: -i }], (i) => ({ ratio: i / 3, big: 2 ** 40 + i }),
      (i) => ({ 1: i, a: 1 }), (i) => ({ a: 1, 0: i }), (i) => ({ '-1': i, '01': i, ' 1': 2 }), (i) => JSON.parse('{"__proto__":' + i + ',"constructor":1}'),
      (i) => ({ 'é': i, 'ж': 1 }), (i) => ({ '': i }), (i) => ({}), (i) => ({ long: 'x'.repeat(100 + i % 60) }), (i) => ({ date: new Date(i) }),
      (i) => ({ id: -0, text: '' }), (i) => Object.fromEntries(Array.from({ length: 15 + i % 4 }, (_, n) => ['p' + n, n])), (i) => ({ list: Array(30 + i % 5).fill(i) }),
      (i) => ({ a: { a: { a: { a: { a: { a: i } } } } } }), (i) => ({ get id() { return i; }, name: 'x' }),
    ];
    for (let round = 0; round < 40; round += 1) for (const shape of shapes) check(shape(round));`));

  test('may have values of other kinds each time', () => passes(`${CHECK}
    const values = [1, 1.5, -0, 'a', null, undefined, true, [1], { b: 1 }, { c: 'd' }, 2 ** 31, ['x', { b: 2 }], NaN];
    for (let round = 0; round < 60; round += 1) check({ a: values[round % values.length], b: values[(round * 5) % values.length] });`));

  test('are separate', () => passes(`
    let count = 0;
    context.global.setSync('give', new ivm.Callback(() => ({ id: count += 1, list: [count] })));
    assert.deepEqual(context.evalSync(\`
      const all = Array.from({ length: 50 }, () => give());
      all.forEach((one) => { one.id *= 2; one.list.push(0); one.more = 1; });
      delete all[7].id;
      [new Set(all).size, new Set(all.map((one) => one.list)).size, all[3].id, all[7].id, Object.keys(all[7]).join(), Object.keys(give()).join()]\`, { copy: true }), [50, 50, 8, undefined, 'list,more', 'id,list']);`));

  test('with many different names are read as well', () => passes(`${CHECK}
    for (let round = 0; round < 6; round += 1) for (let n = 0; n < 120; n += 1) check({ ['name' + n]: round, same: n });
    for (let n = 0; n < 300; n += 1) check({ ['once' + n]: n });`));

  test('belong to the context that receives them', () => passes(`
    const other = isolate.createContextSync();
    for (const each of [context, other]) each.global.setSync('give', new ivm.Callback(() => ({ id: 1, name: 'a' })));
    for (let round = 0; round < 20; round += 1) for (const each of [context, other]) {
      assert.equal(each.evalSync('const o = give(); Object.getPrototypeOf(o) === Object.prototype && o instanceof Object && o.id === 1'.replace('const o', 'o')), true);
    }
    // What a guest does to its prototype does not matter.
    context.evalSync('Object.defineProperty(Object.prototype, "id", { set() { throw new Error("setter") }, get() { return 0 }, configurable: true })');
    for (let round = 0; round < 20; round += 1) assert.equal(context.evalSync('give().id'), 1);`));

  test('whose getters or proxies throw are refused each time, and later ones are not', () => passes(`
    let next;
    context.global.setSync('give', new ivm.Callback(() => next()));
    const give = context.evalSync('() => give()', { reference: true });
    const result = () => give.applySync(undefined, [], { result: { copy: true } });
    for (let round = 0; round < 20; round += 1) {
      next = () => ({ id: round, name: 'a' });
      assert.deepEqual(result(), { id: round, name: 'a' });
      next = () => ({ id: round, get name() { throw new RangeError('of the getter'); } });
      assert.throws(result, { name: 'RangeError', message: 'of the getter' });
      next = () => ({ id: round, name: () => {} });
      assert.throws(result, /could not be cloned/);
      next = () => ({ id: round, name: 'x'.repeat(10_000) });
      assert.equal(result().name.length, 10_000);
      next = () => ({ id: round, get name() { next = () => ({ id: -1, name: 'inner' }); return result().name; } });
      assert.deepEqual(result(), { id: round, name: 'inner' });
      next = () => ({ id: round, handle: new ivm.ExternalCopy([round]) });
      assert.deepEqual(context.evalSync('give().handle.copy()', { copy: true }), [round]);
    }`));
});
