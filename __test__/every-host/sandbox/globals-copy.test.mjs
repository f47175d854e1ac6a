// What the code gets of arrays and objects among its globals.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const resultOf = async (globals, code) => {
  const { result, error } = await ivm.createSandbox(globals).execute(code);
  assert.equal(error, undefined);
  return result;
};

describe('globals', () => {
  test('arrays keep holes, their length and other properties', async () => {
    const holes = [1, , undefined, 4]; // eslint-disable-line no-sparse-arrays
    holes.length = 6;
    const named = Object.assign([1, 2], { total: 3, '-1': 'x', 1.5: 'y' });
    const code = 'return [Object.keys(holes), holes.length, 1 in holes, 2 in holes, Object.keys(named), named.total, named.length, JSON.stringify(named)]';
    assert.deepEqual(await resultOf({ holes, named }, code), [['0', '2', '3'], 6, false, true, ['0', '1', 'total', '-1', '1.5'], 3, 2, '[1,2]']);
  });

  test('sparse arrays are copied by their elements', async () => {
    const sparse = [];
    sparse[5] = { f: (n) => n + 1 };
    sparse[3_000_000] = 'last';
    sparse.name = 'x';
    assert.deepEqual(await resultOf({ sparse }, 'return [Object.keys(sparse), sparse.length, sparse[5].f(1), sparse[3e6], sparse.name]'),
      [['5', '3000000', 'name'], 3_000_001, 2, 'last', 'x']);
    const empty = [];
    empty.length = 4_000_000_000;
    assert.deepEqual(await resultOf({ empty }, 'return [empty.length, Object.keys(empty)]'), [4_000_000_000, []]);
  });

  test('functions at any depth of arrays and objects', async () => {
    const counts = { calls: [(n) => n * 2, { deep: [[() => 'found']] }], n: 3, own() { return this.n; } };
    counts.self = counts;
    counts.calls.push(counts.calls);
    assert.deepEqual(await resultOf({ counts }, 'return [counts.calls[0](4), counts.calls[1].deep[0][0](), counts.own(), counts.self === counts, counts.calls[2] === counts.calls]'),
      [8, 'found', 3, true, true]);
  });

  test('the same object in two places is one object', async () => {
    const shared = { list: [1] };
    assert.equal(await resultOf({ a: { shared, f: () => 1 }, b: [shared] }, 'a.shared === b[0] && a.shared.list === b[0].list'), true);
  });

  test('getters are read once per execution, and `__proto__` is a name like others', async () => {
    let reads = 0;
    const data = { get now() { reads += 1; return { f: () => reads }; }, ['__proto__']: { x: 1 } };
    const list = Object.defineProperty([0, 0], 1, { get: () => { reads += 10; return 5; }, enumerable: true });
    assert.deepEqual(await resultOf({ data, list }, 'return [data.now.f(), Object.keys(data), list[1], data.x]'), [11, ['now', '__proto__'], 5, undefined]);
    assert.equal(reads, 11);
  });

  test('many elements', async () => {
    const numbers = Array.from({ length: 300_000 }, (_, index) => index);
    const rows = numbers.slice(0, 20_000).map((id) => ({ id, tags: ['a'] }));
    assert.deepEqual(await resultOf({ numbers, rows }, 'return [numbers.length, numbers.at(-1), rows.length, rows[19_999].id, rows[7].tags[0]]'), [300_000, 299_999, 20_000, 19_999, 'a']);
  });
});
