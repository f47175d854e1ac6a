// What the validation of a tool's params takes: memory and time.

import { mock, test } from 'node:test';
import assert from 'node:assert/strict';
import { readJsonSchema } from '../../../surface/host/sandbox/tools/json-schema.js';
import { issuesOf } from '../../../surface/host/sandbox/tools/validation.js';
import { doubles, indices } from '../../wire/collisions.mjs';

const ENDING = { until: Infinity, stopped() {} };
const issues = async (schema, params) => issuesOf(readJsonSchema(schema, 'schema'), params, ENDING);

/** Runs a function. Returns the number of maps that it has filled with 10,000 entries. */
async function largeMaps(run) {
  const { set } = Map.prototype;
  let count = 0;
  const define = (value) => Reflect.defineProperty(Map.prototype, 'set', { value, writable: true, configurable: true });
  define(function setAndLook(key, value) {
    const isNew = !this.has(key);
    Reflect.apply(set, this, [key, value]);
    if (isNew && this.size === 10_000) count += 1;
    return this;
  });
  try {
    await run();
  } finally {
    define(set);
  }
  return count;
}

test('what schemas find is kept only as long as it can be used', async () => {
  const forms = Array.from({ length: 5 }, (_, index) => ({ type: 'object', required: ['kind'], properties: { kind: { const: index } } }));
  const item = { anyOf: [...forms, { type: 'object' }] };
  const list = Array.from({ length: 20_000 }, (_, index) => ({ kind: index % 6 }));
  for (const [what, schema] of Object.entries({
    'items with alternatives': { properties: { list: { items: item } } },
    'the same by a reference': { $ref: '#/$defs/all', $defs: { all: { properties: { list: { type: 'array', items: { $ref: '#/$defs/item' } } } }, item } },
    'one alternative': { anyOf: [{ properties: { list: { items: item } } }] },
  })) {
    // For the elements, and for the schema that they refer to, but not for their alternatives.
    assert.ok(await largeMaps(async () => assert.deepEqual(await issues(schema, { list }), [], what)) <= 2, what);
  }
  // Here, another schema might look at all of it again.
  assert.ok(await largeMaps(async () => assert.deepEqual(await issues({ allOf: [{ properties: { list: { items: item } } }, true] }, { list }), [])) > 1);
});

test('it is limited', async () => {
  const list = Array.from({ length: 20_000 }, () => ({}));
  const many = { not: { allOf: [{ properties: { list: { items: { allOf: Array.from({ length: 120 }, () => ({ type: 'object' })) } } } }, false] } };
  await assert.rejects(issues(many, { list }), { name: 'RangeError', code: 'ERR_ISOLATE_LIMIT', message: 'The params are too large for the schema' });
  many.not.allOf[0].properties.list.items.allOf.length = 20;
  assert.deepEqual(await issues(many, { list }), []);
});

for (const [what, colliding] of [['numbers', doubles(25_000)], ['texts', indices(25_000)], ['names', indices(25_000).map((name) => ({ [name]: 1 }))]]) {
  test(`items are compared in time in proportion to their number, even if they collide: ${what}`, async () => {
    const taken = async (list) => {
      const start = process.cpuUsage();
      assert.deepEqual(await issues({ uniqueItems: true }, list), []);
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1000;
    };
    const plain = await taken(colliding.map((item) => (typeof item === 'object' ? { [`k${Object.keys(item)[0]}`]: 1 } : `k${item}`)));
    const time = await taken(colliding);
    assert.ok(time < 10 * plain + 200, `${plain.toFixed(1)} ms, then ${time.toFixed(1)} ms`);
  });
}

test('the names of large objects are compared in any order, and sorted in small pieces', async () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `k${index}`);
  const object = (list, last) => Object.fromEntries([...list.map((name) => [name, 0]), ['last', last]]);
  const shuffled = names.map((_, index) => names[(index * 7_919) % names.length]);
  const { prototype } = Object.getPrototypeOf(Float64Array);
  const lengths = [];
  const mocks = ['sort', 'toSorted'].map((name) => {
    const original = prototype[name];
    return mock.method(prototype, name, function sort(...args) {
      lengths.push(this.length);
      return original.apply(this, args);
    });
  });
  try {
    assert.deepEqual(await issues({ uniqueItems: true }, [object(names, 0), object(shuffled, 1), object(names.toReversed(), 2)]), []);
    assert.deepEqual(await issues({ uniqueItems: true }, [object(names, 0), object(shuffled, 0)]), ['params must not have equal items']);
  } finally {
    mocks.forEach((each) => each.mock.restore());
  }
  assert.ok(lengths.length > 0 && lengths.every((length) => length <= 4_096), `${Math.max(...lengths)}`);
});
