// Lists of primitives that a guest passes to its host or returns, and that it gets. Short ones do not go through V8's serializer and deserializer.

/* oxlint-disable no-sparse-arrays -- holes travel */

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { ivm, withContext } from '../../api/ivm.mjs';

const LISTS = [
  '[]', '[1]', '["a", "b"]', '["$json", "items", 3, "name"]', '[true, false, null, undefined]', '[0, -0, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 53]',
  '[63, 64, -64, -65, 2 ** 30, -(2 ** 30), 2 ** 31 - 1, -(2 ** 31)]', '[2 ** 31, -(2 ** 31) - 1]', '[1.5, 2]', '["", "\\u00ff", "\\u0100", "\\ud800"]',
  '["x".repeat(127), "x".repeat(128)]', '["left".repeat(3) + "right".repeat(4), "substring of a text".slice(3, 18)]',
  '[1, 2, 3, 4, 5, 6, 7, 8]', '[1, 2, 3, 4, 5, 6, 7, 8, 9]', '[1, , 3]', '[, ]', 'Array(3)', '[1n, "a"]', '[[1], ["a"]]', '[{ a: 1 }, 2]',
  'Object.assign(["a", 1], { named: 2 })', 'Object.assign([], { named: 2 })', 'Object.defineProperty(["a"], "hidden", { value: 1 })',
  'Object.freeze(["a", 1])', 'Object.seal([1, 2])', 'new (class extends Array {})("a", "b")', 'Object.setPrototypeOf(["a", 1], null)',
  'Object.defineProperty(["a", "b"], 1, { get: () => "got", enumerable: true })', 'Array.from({ length: 5 }, (_, i) => i % 2 ? i : "t" + i)',
  '((list) => { list.length = 1; return list; })(["a", "b"])', '((list) => { delete list[0]; return list; })(["a", "b"])', 'JSON.parse(\'["a", 1]\')',
];

test('lists arrive as `structuredClone` copies them', () => withContext(({ context }) => {
  const arrived = [];
  context.global.setSync('take', new ivm.Callback((...args) => { arrived.push(...args); }));
  for (let round = 0; round < 3; round += 1) {
    for (const list of LISTS) {
      const expected = structuredClone(new Function(`return ${list}`)());
      const results = [context.evalSync(list, { copy: true }), context.evalSync(`(() => ${list})`, { reference: true }).applySync(undefined, [], { result: { copy: true } })];
      context.evalSync(`take(${list}); take(1, ${list}, "a", ${list})`);
      const [first, one, second, a, third, ...rest] = arrived.splice(0);
      assert.deepEqual([one, a, rest], [1, 'a', []]);
      for (const result of [...results, first, second, third]) {
        assert.deepEqual(result, expected, list);
        assert.deepEqual(Reflect.ownKeys(result), Reflect.ownKeys(expected), list);
        assert.equal(Object.getPrototypeOf(result), Array.prototype, list);
      }
    }
  }
}));

test('lists reach the guest as `structuredClone` copies them', () => withContext(({ context }) => {
  context.global.setSync('give', new ivm.Callback((list) => new Function(`return ${list}`)()));
  const describe = '(list) => JSON.stringify([Reflect.ownKeys(list), list.map((one) => `${Object.is(one, -0) ? "-" : ""}${String(one)}`), Array.isArray(list), Object.getPrototypeOf(list) === Array.prototype, Object.isExtensible(list)])';
  const describeHere = new Function(`return ${describe}`)();
  const described = context.evalSync(describe, { reference: true });
  const change = context.evalSync('(list) => { list.push("more"); list.name = 1; return list; }', { reference: true });
  for (const list of LISTS) {
    const expected = structuredClone(new Function(`return ${list}`)());
    const text = describeHere(expected);
    assert.equal(described.applySync(undefined, [expected], { arguments: { copy: true } }), text, list);
    assert.equal(context.evalSync(`(${describe})(give(${JSON.stringify(list)}))`), text, list);
    const changed = change.applySync(undefined, [expected], { arguments: { copy: true }, result: { copy: true } });
    assert.equal(changed.at(-1), 'more', list);
    assert.equal(changed.name, 1, list);
  }
}));

test('lists of other contexts, and of contexts with changed prototypes', () => withContext(({ isolate, context }) => {
  const other = isolate.createContextSync();
  const arrived = [];
  for (const each of [context, other]) each.global.setSync('take', new ivm.Callback((list) => { arrived.push(list); }));
  context.evalSync('globalThis.list = ["mine", 1]');
  other.global.setSync('foreign', context.global.getSync('list', { reference: true }).derefInto());
  other.evalSync('take(foreign); take(["own", 2]); foreign.push("more"); take(foreign); foreign.named = 3; take(foreign)');
  context.evalSync('take(list); delete list.named; take(list)');
  assert.deepEqual(arrived.splice(0), [['mine', 1], ['own', 2], ['mine', 1, 'more'], Object.assign(['mine', 1, 'more'], { named: 3 }), Object.assign(['mine', 1, 'more'], { named: 3 }), ['mine', 1, 'more']]);
  const third = isolate.createContextSync();
  third.global.setSync('take', new ivm.Callback((list) => { arrived.push(list); }));
  third.evalSync(`
    let calls = 0;
    for (const key of [0, 1, 'length2', 'toJSON']) Object.defineProperty(Array.prototype, key, { get() { calls += 1; }, set() { calls += 1; }, configurable: true });
    Object.defineProperty(Object.prototype, 'x', { get() { calls += 1; } });
    take(['a', 1]); take([1, 2]); take([]);`);
  assert.equal(third.evalSync('calls'), 0);
  assert.deepEqual(arrived, [['a', 1], [1, 2], []]);
}));

test('lists that cannot be cloned, or whose getters throw', () => withContext(({ context }) => {
  context.global.setSync('take', new ivm.Callback(() => assert.fail('called')));
  assert.throws(() => context.evalSync('take(["a", Symbol("b")])'), { name: 'TypeError', message: /could not be cloned/ });
  assert.throws(() => context.evalSync('take(["a", () => 1])'), { name: 'TypeError', message: /could not be cloned/ });
  assert.throws(() => context.evalSync('take(["a"], Object.defineProperty(["b"], 0, { get() { throw new RangeError("mine"); }, enumerable: true }))'), { name: 'RangeError', message: 'mine' });
  assert.throws(() => context.evalSync('[Symbol("b")]', { copy: true }), { name: 'TypeError', message: /could not be cloned/ });
}));

test('texts arrive as they are, however often they and similar ones come', () => withContext(({ context }) => {
  // Every text of a length has the same beginning, middle and end.
  const source = `(() => {
    const texts = ['', 'a', '\\u00ff', '\\u00ff\\u0080', 'a\\u0100', '__proto__', '12345678901', '123456789012', '1234567890123'];
    for (let length = 2; length < 14; length += 1) {
      for (let index = 0; index < 20; index += 1) {
        texts.push(Array.from({ length }, (_, at) => (at === 0 || at === length >> 1 || at === length - 1 ? 'x' : String.fromCharCode(97 + (index * (at + 7)) % 26))).join(''));
      }
    }
    return texts;
  })()`;
  const texts = new Function(`return ${source}`)();
  const arrived = [];
  context.global.setSync('take', new ivm.Callback((...values) => { arrived.push(values); }));
  for (let round = 0; round < 10; round += 1) {
    context.evalSync(`for (const text of ${source}) { take(text); take([text, 'x' + text]); take(text, [text], text) }`);
  }
  assert.equal(arrived.length, 30 * texts.length);
  for (let index = 0; index < arrived.length; index += 3) {
    const text = texts[(index / 3) % texts.length];
    assert.deepEqual(arrived.slice(index, index + 3), [[text], [[text, `x${text}`]], [text, [text], text]]);
  }
}));
