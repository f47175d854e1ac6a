// Large values: guests read most of them without V8's deserializer (src/convert/plain_value.rs). They are no different from those that V8 reads.

import { describe, test } from 'node:test';
import { passes } from '../../isolate/helper.mjs';

/** What both sides say about a value: everything that they can see. */
const DESCRIBE = `
  const describe = (value, seen = new Map()) => {
    if (typeof value !== 'object' || value === null) return typeof value + (Object.is(value, -0) ? '-0' : String(value));
    if (seen.has(value)) return '^' + seen.get(value);
    seen.set(value, seen.size);
    const properties = Reflect.ownKeys(value).map((key) => {
      const { value: part, ...flags } = Object.getOwnPropertyDescriptor(value, key);
      return String(key) + Object.values(flags).map(Number).join('') + describe(part, seen);
    }).join();
    const parts = value instanceof Map || value instanceof Set ? describe([...value], seen) : value instanceof Date ? value.getTime() : '';
    return Object.prototype.toString.call(value) + parts + '{' + properties + '}' + Object.getPrototypeOf(value).constructor.name;
  };`;

/** For the program: \`check(value)\` passes it to a guest, repeatedly, and compares what the guest sees with what \`like\` is here. */
const CHECK = `
  ${DESCRIBE}
  const copies = (source) => {
    const sink = context.evalSync(source, { reference: true });
    return (value) => sink.applySync(undefined, [value], { arguments: { copy: true }, result: { copy: true } });
  };
  const described = copies(${JSON.stringify(`(value) => { ${DESCRIBE} return describe(value); }`)});
  const check = (value, like = value, times = 3) => {
    const expected = describe(like);
    for (let i = 0; i < times; i += 1) assert.equal(described(value), expected);
  };
  const many = (make, length = 100) => Array.from({ length }, (_, i) => make(i));`;

describe('large values', () => {
  test('of records', () => passes(`${CHECK}
    check(many((i) => ({ id: i })), undefined, 8);
    check(many((i) => ({ id: i - 50, name: 'name ' + i, at: { x: i / 3, y: -0 }, tags: ['a', 'b'], ok: i % 2 === 0, none: null, nothing: undefined })));
    check(many((i) => ({ a: 1, ...(i % 2 && { b: 2 }), ...(i % 3 && { c: 'c' }), ...(i % 5 && { d: [] }), ...(i % 7 && { e: {} }), z: i })), undefined, 8);
    check(many((i) => [{ id: i }, { name: 'n', id: i }, { x: i, y: 1, z: 2 }, { kind: 'k', at: { x: i } }, { list: [i], ok: true, no: null }, {}][i % 6]), undefined, 8);
    check({ first: many((i) => ({ id: i })), second: many((i) => ({ id: String(i) })), third: many(() => ({ id: undefined })) });
    check(many((i) => Object.fromEntries(many((n) => ['key' + n, i], 28 + i % 8))));
    check(many((i) => ({ text: 'x'.repeat(i * 3), ['t'.repeat(i % 3 === 0 ? 120 + i : 3)]: i })));`));

  test('with names of any kind', () => passes(`${CHECK}
    check(many((i) => ({ 'é': i, 'ж': 1, '': 2 })), undefined, 8);
    check(many((i) => ({ b: i, 1: 2, 0: 1, '-1': 3, '01': 4, '4294967295': 5, '1.5': 6 })), undefined, 8);
    check(many((i) => JSON.parse('{"__proto__":' + i + ',"constructor":{"name":"x"},"hasOwnProperty":1,"toString":null}')).map((each) => each), undefined, 8);
    check(many((i) => ({ ['only' + i]: i })), undefined, 8);
    for (let round = 0; round < 100; round += 1) check(many((i) => ({ ['often' + round]: i, i }), 40), undefined, 2);
    for (let round = 0; round < 5; round += 1) check(many((i) => ({ größe: i, 'naïve': 'é' + round, 'Ã©': 1, 'é': 2, ['ÿ'.repeat(100)]: 3 })), undefined, 2);
    check(many((i) => Object.fromEntries(many((n) => ['ü' + n, i], 62 + i % 5))));
    // There is no room for more templates.
    check(many((i) => ({ late: i, comer: { id: i } })), undefined, 8);`));

  test('with values of other kinds', () => passes(`${CHECK}
    const values = [1, 1.5, -0, 'a', null, undefined, true, false, 2 ** 31, -(2 ** 31), 2 ** 30, NaN, Infinity, 'é', 'ж', '\\u{1f600}', '\\ud800', 'ж'.repeat(200), 'x'.repeat(300), 10n ** 30n, 0n];
    check(many((i) => values[i % values.length]));
    const bigints = [0n, 1n, -1n, 2n ** 63n, -(2n ** 64n), 2n ** 64n - 1n, 2n ** 64n, 2n ** 255n, -(2n ** 256n - 1n), 2n ** 256n, 10n ** 90n];
    check(many((i) => ({ id: bigints[i % bigints.length], of: i })), undefined, 8);
    check(many((i) => 'ж'.repeat(i % 7) + 'x'.repeat(i % 5)));
    check(many((i) => ({ value: values[i % values.length], next: values[(i * 5) % values.length], list: [values[i % 13]] })));
    check(many((i) => ({ id: i, ['имя']: 'ж' + i, list: ['ж', 'x', 'жж'] })));
    check(many((i) => ({ at: new Date(i * 1e9), never: new Date(NaN), id: i })), undefined, 8);
    check(many((i) => new Date(i)));
    check({ dates: many((i) => new Date(i)), ids: many((i) => ({ id: i })) });
    check(many((i) => ({ pattern: /a+/g, id: i })), undefined, 8);
    check(many((i) => ({ id: i, boxed: Object(i) })));
    check([...many((i) => ({ id: i })), new Uint8Array([1, 2, 3]), many((i) => ({ id: i }))]);
    const holes = many((i) => ({ id: i }));
    delete holes[7];
    check({ holes, records: many((i) => ({ id: i })) });
    check(Object.assign(many((i) => ({ id: i }), 300), { name: 'named', 5000000000: 1 }));
    check({ list: Object.assign(many((i) => i, 300), { name: 'named' }) });`));

  test('of maps and sets', () => passes(`${CHECK}
    check(new Map(many((i) => ['key ' + i, { id: i, tags: ['a'] }])));
    check(new Map(many((i) => [{ id: i }, new Set([i, { id: i }])])));
    check(many((i) => ({ map: new Map([[i, { id: i }], ['ж', NaN]]), set: new Set(['a', i, new Map()]) })));
    check({ map: new Map(), set: new Set(), records: many((i) => ({ id: i })) });
    const map = new Map(many((i) => ['key ' + i, { id: i }]));
    check({ map, same: map, set: new Set([map]) });`));

  test('are read without functions of the guest', () => passes(`${CHECK}
    context.evalSync(\`
      Map.prototype.set = Set.prototype.add = () => { throw new Error('called') };
      for (const name of ['id', 'map', '0']) Object.defineProperty(Object.prototype, name, { set() { throw new Error('setter') }, configurable: true });
    \`);
    const parts = copies('(value) => value.map(({ id, map, set, at: [first] }) => [id, map.size, map.get(id), set.has(id), first].join()).join(";")');
    for (let round = 0; round < 8; round += 1) {
      const value = many((i) => ({ id: i, map: new Map([[i, 'x']]), set: new Set([i]), at: [i] }));
      assert.equal(parts(value), value.map(({ id }) => [id, 1, 'x', true, id].join()).join(';'));
    }`));

  test('with an object more than once', () => passes(`${CHECK}
    const nodes = many((i) => ({ id: i }), 10);
    const date = new Date(5);
    check(many((i) => ({ node: nodes[i % 10], date, list: i % 2 ? nodes : [] })), undefined, 8);
    const circle = { id: 1, records: many((i) => ({ id: i })) };
    circle.records.push({ id: 101, circle });
    check(circle);
    const map = new Map(many((i) => [i, { id: i }]));
    map.set('itself', map);
    check(map);
    const list = many((i) => ({ id: i }));
    list.push(list);
    check(list);`));

  test('with names that look like longer ones', () => passes(`${CHECK}
    const read = context.evalSync('(value) => JSON.stringify(value)', { reference: true });
    for (let length = 120; length < 260; length += 1) {
      const name = 'k'.repeat(length);
      for (const value of [many((i) => ({ ['\\x01' + name]: i })), many(() => ({ [name + '"']: 's'.repeat(33) })), many((i) => ({ [name]: i }))]) {
        assert.equal(read.applySync(undefined, [value], { arguments: { copy: true } }), JSON.stringify(value), String(length));
      }
    }`));

  test('of many levels', () => passes(`${CHECK}
    const nested = (depth) => (depth === 0 ? many((i) => ({ id: i })) : depth % 3 === 0 ? [nested(depth - 1)] : depth % 3 === 1 ? { in: nested(depth - 1) } : new Map([[depth, nested(depth - 1)]]));
    for (let depth = 1; depth < 40; depth += 1) check(nested(depth), undefined, 1);
    check({ deep: nested(300), records: many((i) => ({ id: i })) }, undefined, 1);
    check(many((i) => ({ deep: nested(20), id: i }), 20));`));

  test('are separate, also in other contexts', () => passes(`
    const source = '(value) => { const [one, two] = value; one.id = -1; delete one.name; two.more = 1; value.push(0); return JSON.stringify(value) + (Object.getPrototypeOf(two) === Object.prototype) }';
    const value = Array.from({ length: 100 }, (_, id) => ({ id, name: 'n' }));
    const expected = JSON.stringify([{ id: -1 }, { id: 1, name: 'n', more: 1 }, ...value.slice(2), 0]) + true;
    const sinks = [context, isolate.createContextSync()].map((each) => each.evalSync(source, { reference: true }));
    for (let round = 0; round < 10; round += 1) {
      for (const sink of sinks) assert.equal(sink.applySync(undefined, [value], { arguments: { copy: true } }), expected);
    }`));

  test('that do not fit into the heap end the isolate only', () => passes(`
    const sink = context.evalSync('const kept = []; (value) => { kept.push(value); return kept.length }', { reference: true });
    const value = Array.from({ length: 3_000 }, (_, id) => ({ id, name: 'name ' + id, ratio: id / 7 }));
    assert.throws(() => { for (;;) sink.applySync(undefined, [value], { arguments: { copy: true } }); }, { code: 'ERR_ISOLATE_MEMORY' });
    assert.ok(isolate.isDisposed);
    otherWorks();`, { options: '{ memoryLimit: 16 }' }));
});
