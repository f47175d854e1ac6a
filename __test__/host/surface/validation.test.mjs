// JSON Schemas: what is valid, compared with another implementation, and what the work costs.

import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';

const require = createRequire(import.meta.url);
const { readJsonSchema } = require('../../../surface/host/sandbox/tools/json-schema.js');
const { issuesOf } = require('../../../surface/host/sandbox/tools/validation.js');

/** The keyword. An object with it is no thenable. */
const THEN = `th${'en'}`;
const matchHere = async (pattern, text) => pattern.test(text);
const ENDING = { until: Infinity, stopped: () => undefined, match: matchHere };
const { Pattern } = require('../../../surface/host/sandbox/tools/patterns.js');
const issues = (schema, value) => issuesOf(readJsonSchema(schema, 'the schema'), value, ENDING);
const isValid = async (schema, value) => (await issues(schema, value)).length === 0;

/** Schemas, each with valid and with invalid values. */
const CASES = [
  [true, [1, 'x', null, {}], []],
  [false, [], [1, null, {}]],
  [{}, [1, 'x', null, {}, []], []],
  [{ type: 'integer' }, [1, -5, 1e20, 0], [1.5, '1', null, true, []]],
  [{ type: 'number' }, [1, 1.5], ['1', null]],
  [{ type: ['string', 'null'] }, ['', null], [1, {}]],
  [{ type: 'object' }, [{}], [[], null, 'x']],
  [{ type: 'array' }, [[]], [{}, null]],
  [{ enum: [1, 'a', null, { a: [1] }, [1, 2]] }, [1, 'a', null, { a: [1] }, [1, 2]], [2, 'b', { a: [1, 2] }, { a: [1], b: 1 }, [2, 1], {}]],
  [{ const: { a: 1, b: [null] } }, [{ b: [null], a: 1 }], [{ a: 1 }, { a: 1, b: [null], c: 1 }]],
  [{ const: null }, [null], [0, '']],
  [{ enum: [1, 2], const: 2 }, [2], [1, 3]],
  [{ enum: [] }, [], [1]],
  [{ minimum: 1, maximum: 3 }, [1, 2, 3, 'x'], [0.9, 3.1]],
  [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [1.1, 2], [1, 3]],
  [{ multipleOf: 0.01 }, [0.07, 1.13, 19.99, 0], [0.075]],
  [{ multipleOf: 3 }, [0, 9, -3], [1, 1.5]],
  [{ minLength: 2, maxLength: 3 }, ['ab', 'abc', '😀😀', '😀😀😀', 5], ['a', 'abcd', '😀', '😀😀😀😀', '']],
  [{ minLength: 0, maxLength: 0 }, [''], ['a']],
  [{ pattern: '^a+$' }, ['a', 'aa', 5], ['', 'b']],
  [{ pattern: '\\p{Lu}' }, ['A'], ['a']],
  [{ items: { type: 'number' } }, [[], [1, 2], 'x'], [['a'], [1, 'a']]],
  [{ items: false }, [[]], [[1]]],
  [{ prefixItems: [{ type: 'string' }, { type: 'number' }], items: { type: 'null' } }, [[], ['a'], ['a', 1], ['a', 1, null]], [[1], ['a', 'b'], ['a', 1, 2]]],
  [{ items: [{ type: 'string' }], additionalItems: false }, [[], ['a']], [['a', 'b'], [1]]],
  [{ items: [] }, [[], [1]], []],
  [{ minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], [1, 2, 3]]],
  [{ uniqueItems: true }, [[], [1, '1', true, null, [1], { a: 1 }], [[1, 2], [2, 1]], [{ a: 1 }, { a: 2 }], [{ a: 'b' }, ['a', 'b']]], [[1, 1], [{ a: 1, b: 2 }, { b: 2, a: 1 }], [[[]], [[]]]]],
  [{ contains: { type: 'number' } }, [[1], ['a', 1]], [[], ['a']]],
  [{ contains: { type: 'number' }, minContains: 2, maxContains: 3 }, [[1, 2], [1, 'a', 2, 3]], [[1], [1, 2, 3, 4]]],
  [{ contains: { type: 'number' }, minContains: 0 }, [[], ['a']], []],
  [{ properties: { a: { type: 'number' }, b: false }, required: ['a'] }, [{ a: 1 }, { a: 1, c: 1 }, []], [{}, { a: 'x' }, { a: 1, b: 1 }]],
  [{ required: ['constructor', 'toString'] }, [{ constructor: 1, toString: 1 }], [{}, { constructor: 1 }]],
  [{ additionalProperties: { type: 'number' }, properties: { a: true }, patternProperties: { '^x': { type: 'string' } } }, [{ a: 'any', b: 1, x1: 's' }], [{ b: 'x' }, { x1: 1 }]],
  [{ propertyNames: { pattern: '^a' } }, [{}, { a: 1, ab: 2 }], [{ b: 1 }]],
  [{ minProperties: 1, maxProperties: 2 }, [{ a: 1 }, { a: 1, b: 2 }], [{}, { a: 1, b: 2, c: 3 }]],
  [{ dependentRequired: { a: ['b'] } }, [{}, { b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
  [{ dependentSchemas: { a: { required: ['b'] } } }, [{}, { a: 1, b: 1 }], [{ a: 1 }]],
  [{ dependencies: { a: ['b'], c: { required: ['d'] } } }, [{}, { a: 1, b: 1 }, { c: 1, d: 1 }], [{ a: 1 }, { c: 1 }]],
  [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, [1, 3], [0, 4]],
  [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, ['a', 3], [2]],
  [{ oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, [2, 3], [6, 1]],
  [{ not: { type: 'string' } }, [1], ['a']],
  [{ if: { required: ['a'] }, [THEN]: { required: ['b'] }, else: { required: ['c'] } }, [{ a: 1, b: 1 }, { c: 1 }], [{ a: 1 }, {}]],
  [{ if: { type: 'string' } }, [1, 'a'], []],
  [{ $ref: '#/$defs/a', $defs: { a: { type: 'number' } }, maximum: 5 }, [5], [6, 'x']],
  [{ properties: { 'a/b': { $ref: '#/definitions/x~1y~0%25' } }, definitions: { 'x/y~%': { type: 'number' } } }, [{ 'a/b': 1 }], [{ 'a/b': 'x' }]],
  [{ type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false }, [{}, { next: { next: {} } }], [{ next: 1 }, { next: { other: 1 } }]],
  [{ $defs: { b: { type: 'string' }, a: { $id: 'a', $ref: '#/$defs/b', $defs: { b: { type: 'number' } } } }, items: { $ref: '#/$defs/a' } }, [[1]], [['x']]],
  [{ $ref: '#' }, [[], {}], []],
  [{ allOf: [{ $ref: '#' }], type: 'object' }, [{}], [[]]],
  [{ format: 'email', 'x-own': 1, nullable: true, description: 'd', default: 5 }, ['no address', null], []],
];

describe('what is valid', () => {
  for (const [schema, valid, invalid] of CASES) {
    test(JSON.stringify(schema), async () => {
      for (const value of valid) assert.deepEqual(await issues(schema, value), [], JSON.stringify(value));
      for (const value of invalid) assert.ok(await isValid(schema, value) === false, JSON.stringify(value));
    });
  }

  test('random schemas and values, as another implementation judges them', async () => {
    const value = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, fc.constantFrom(null, true, false, 0, 1, 2, 1.5, -1, '', 'a', 'b', 'aa', '😀'), fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3, noNullPrototype: true })),
    })).value;
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 2 });
    const { schema } = fc.letrec((tie) => {
      const list = fc.array(tie('schema'), { minLength: 1, maxLength: 3 });
      const map = fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3, noNullPrototype: true });
      return {
        schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), fc.record({
          type: fc.oneof(fc.constantFrom('string', 'number', 'integer', 'object', 'array', 'null', 'boolean'), fc.constant(['string', 'array']), fc.constant(['object', 'integer'])),
          enum: fc.array(value, { minLength: 1, maxLength: 3 }), const: value,
          minimum: fc.integer({ min: -1, max: 2 }), exclusiveMaximum: fc.integer({ min: 0, max: 3 }), multipleOf: fc.constantFrom(1, 2, 0.5),
          minLength: fc.integer({ min: 0, max: 2 }), maxLength: fc.integer({ min: 0, max: 2 }), pattern: fc.constantFrom('^a', 'b$', '.'),
          items: tie('schema'), prefixItems: list, contains: tie('schema'), minItems: fc.integer({ min: 0, max: 2 }), maxItems: fc.integer({ min: 0, max: 3 }), uniqueItems: fc.boolean(),
          properties: map, additionalProperties: tie('schema'), patternProperties: fc.record({ '^a': tie('schema') }), propertyNames: fc.constantFrom({ pattern: '[ab]' }, { maxLength: 1 }),
          required: names, minProperties: fc.integer({ min: 0, max: 2 }), maxProperties: fc.integer({ min: 0, max: 3 }), dependentRequired: fc.record({ a: names }),
          allOf: list, anyOf: list, oneOf: list, not: tie('schema'), if: tie('schema'), [THEN]: tie('schema'), else: tie('schema'),
        }, { requiredKeys: [] })),
      };
    });
    await fc.assert(fc.asyncProperty(schema, value, async (made, data) => {
      assert.equal(await isValid(made, data), new Validator(made, '2020-12').validate(data).valid);
    }), { numRuns: 600 });
  });
});

describe('issues', () => {
  test('name the places, at most ten', async () => {
    const schema = { properties: { list: { items: { type: 'number' } }, 'odd key': { properties: { x: { const: 'y' } } } } };
    assert.deepEqual(await issues(schema, { list: [1, 'a', null], 'odd key': { x: 1 } }),
      ['params.list[1] must be a number', 'params.list[2] must be a number', 'params["odd key"].x must be "y"']);
    assert.equal((await issues({ items: false }, Array(1_000).fill(1))).length, 10);
    const [issue] = await issues({ properties: { ['k'.repeat(10_000)]: false } }, { ['k'.repeat(10_000)]: 1 });
    assert.ok(issue.length < 200);
    const [values] = await issues({ enum: Array.from({ length: 1_000 }, (_, index) => index) }, 'x');
    assert.ok(values.length < 300);
  });
});

describe('work', () => {
  test('many steps are done in slices; the first ones without a turn', async () => {
    assert.ok(Array.isArray(issues({ items: { type: 'number' } }, Array(100).fill(1))));
    let turns = 0;
    const interval = setInterval(() => { turns += 1; }, 1);
    const many = issues({ items: { properties: { a: { items: { type: 'number' } } } } }, Array.from({ length: 100_000 }, () => ({ a: [1, 2, 3] })));
    assert.ok(many instanceof Promise);
    assert.deepEqual(await many, []);
    clearInterval(interval);
    assert.ok(turns > 1, `${turns}`);
  });

  test('lists of a schema count', async () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `v${index}`);
    const dependent = Object.fromEntries(names.map((name) => [name, []]));
    for (const items of [{ enum: names }, { not: { required: names } }, { dependentRequired: dependent }, { not: { dependentRequired: { v: names } } }]) {
      let looks = 0;
      const ending = { ...ENDING, stopped: () => { looks += 1; } };
      await issuesOf(readJsonSchema({ items }, 's'), Array.from({ length: 100 }, () => (items.enum ? 'v19999' : { v: 1 })), ending);
      assert.ok(looks >= 50, `${JSON.stringify(items).slice(0, 40)}: ${looks}`);
    }
  });

  test('ends when it is stopped', async () => {
    let isStopped = false;
    const ending = { until: Infinity, stopped: () => (isStopped ? new Error('stopped') : undefined) };
    const many = issuesOf(readJsonSchema({ items: { type: 'number' } }, 's'), Array(2_000_000).fill(1), ending);
    isStopped = true;
    await assert.rejects(many, { message: 'stopped' });
    await assert.rejects(async () => issuesOf(readJsonSchema({ items: { type: 'number' } }, 's'), Array(2_000_000).fill(1), { until: 0, stopped: () => undefined }), { code: 'ERR_ISOLATE_DEADLINE' });
  });

  test('is done for one call of an execution after the other, since each keeps results', async () => {
    /** A list that takes several slices. Its last element tells when it is read. */
    const slow = (read) => Object.defineProperty(Array(300_000).fill(1), 299_999, { get: () => (read(), 1) });
    const numbers = readJsonSchema({ items: { type: 'number' } }, 's');
    const pattern = readJsonSchema({ pattern: '(a*)*b' }, 's');
    const events = [];
    let isStopped = false;
    const ending = {
      until: Infinity,
      stopped: () => (isStopped ? new Error('stopped') : undefined),
      async match() {
        events.push('match');
        return true;
      },
    };
    const first = issuesOf(numbers, slow(() => events.push('read')), ending);
    const second = issuesOf(pattern, 'a'.repeat(50), ending);
    const elsewhere = issuesOf(pattern, 'a'.repeat(50), { ...ending, match: async () => events.push('elsewhere') > 0 });
    assert.deepEqual(await Promise.all([first, second, elsewhere]), [[], [], []]);
    assert.deepEqual(events, ['elsewhere', 'read', 'match']);

    // Those that wait when the execution ends do not begin, and end on turns of the event loop of their own.
    const stopped = [issuesOf(numbers, slow(() => {}), ending), ...Array.from({ length: 100 }, () => issuesOf(pattern, 'a'.repeat(50), ending))];
    isStopped = true;
    let [turns, seen, most] = [0, 0, 0];
    const immediate = () => {
      most = Math.max(most, seen);
      seen = 0;
      turns += 1;
      next = setImmediate(immediate);
    };
    let next = setImmediate(immediate);
    const messages = stopped.map((each) => each.then(() => 'valid', (error) => {
      seen += 1;
      return error.message;
    }));
    assert.deepEqual(new Set(await Promise.all(messages)), new Set(['stopped']));
    clearImmediate(next);
    assert.ok(turns >= 20 && most <= 10, `${turns} turns, with up to ${most} ends`);
    assert.deepEqual(events, ['elsewhere', 'read', 'match']);
  });

  test('is not exponential', async () => {
    const doubling = { $defs: {}, $ref: '#/$defs/d0' };
    for (let index = 0; index < 60; index += 1) doubling.$defs[`d${index}`] = { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] };
    doubling.$defs.d60 = { type: 'object' };
    assert.deepEqual(await issues(doubling, {}), []);
    assert.equal((await issues(doubling, [])).length, 1);
    let nested = 1;
    for (let index = 0; index < 100; index += 1) nested = [nested, nested];
    assert.equal(await isValid({ uniqueItems: true, items: { $ref: '#' } }, nested), false);
    assert.deepEqual(await issues({ items: { $ref: '#' } }, nested), []);
  });

  test('of a schema that only refers to itself is an error', () => {
    assert.throws(() => issues({ $ref: '#' }, 1), { code: 'ERR_ISOLATE_LIMIT', message: 'The params are nested too deeply' });
  });

  test('of schemas that are nested too deeply is refused', () => {
    let deep = {};
    for (let index = 0; index < 10_000; index += 1) deep = { items: deep };
    assert.throws(() => readJsonSchema(deep, 'the schema'), { code: 'ERR_INVALID_ARG', message: /^the schema is not supported: .* is nested more than/ });
    const itself = {};
    itself.items = itself;
    assert.ok(readJsonSchema(itself, 'the schema'));
  });
});

describe('patterns', () => {
  /** The longest text of a power of ten that is matched on the host's thread; 0 if none is. */
  const longest = (source, flags = 'u') => {
    const pattern = new Pattern(new RegExp(source, flags));
    return [1, 10, 100, 1_000, 10_000, 100_000].findLast((length) => pattern.stepsFor('a'.repeat(length)) !== undefined) ?? 0;
  };

  test('are matched on the host\'s thread if that takes no time', () => {
    for (const [source, length] of [
      ['^[a-z0-9-]+$', 10_000], ['^[a-z]{1,64}$', 1_000], ['^\\d{4}-\\d{2}-\\d{2}$', 10_000], ['^(?:foo|bar)$', 10_000], ['^a?b?c?$', 10_000], ['^(?:abc)*$', 10_000],
      ['^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 1_000], ['^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$', 10], ['abc', 10_000], ['^[\\]a]*$', 10_000],
    ]) assert.ok(longest(source) >= length, `${source}: ${longest(source)}`);
  });

  test('are matched elsewhere if that may take long', () => {
    for (const [source, length, flags] of [
      ['^(a+)+$', 0], ['^(a|a)*$', 0], ['^(?:a*)*$', 0], ['^(?<x>a?){50}$', 0], ['(?=(a|aa)+b)', 0], ['((a{1,2})+)?b', 0], ['^(?:a|b|ab){1,}$', 0], ['^(?:(?:a+){1}){2,}', 0],
      ['\\s+$', 100], ['a|^b', 10_000], ['^a*a*a*a*$', 10], ['^(a*)\\1*$', 10], ['^a{1,}a{1,}a{1,}$', 10], ['^\\u{1,}\\u{1,}\\u{1,}$', 10, ''], ['^(a*|b*)(a*|b*)(a*|b*)$', 10],
      ['^[\\]](a+)+', 0], ['^\\((a+)+', 0], ['^(?i:(a+)+)$', 0, ''],
    ]) {
      if (source.includes('?i:') && !canParse(source)) continue;
      assert.ok(longest(source, flags) <= length, `${source}: ${longest(source, flags)}`);
    }
  });

  test('one that takes long to compile is matched elsewhere', async () => {
    const found = [];
    const match = async (pattern, text) => { found.push(text); return pattern.test(text); };
    for (const [count, texts] of [[4, []], [100, ['a']]]) {
      assert.deepEqual(await issuesOf(readJsonSchema({ pattern: `^[${'\\p{L}'.repeat(count)}]+$` }, 's'), 'a', { ...ENDING, match }), []);
      assert.deepEqual(found.splice(0), texts);
    }
  });

  test('a match elsewhere is awaited, and its failure is that of the validation', async () => {
    const schema = readJsonSchema({ patternProperties: { '^(a+)+$': false }, propertyNames: { pattern: '^(b|a)+$' }, properties: { b: { items: { pattern: '^(c+)+$' } } } }, 's');
    const texts = [];
    const ending = { ...ENDING, match: async (pattern, text) => { texts.push(`${pattern} ${text}`); return pattern.test(text); } };
    assert.deepEqual(await issuesOf(schema, { b: ['cc', 'd'] }, ending), ['params.b[1] must match /^(c+)+$/u']);
    assert.deepEqual(texts, ['/^(b|a)+$/u b', '/^(c+)+$/u cc', '/^(c+)+$/u d', '/^(a+)+$/u b']);
    assert.deepEqual(await issuesOf(schema, { aa: 1 }, ending), ['params.aa is not permitted']);
    await assert.rejects(async () => issuesOf(schema, { aa: 1 }, { ...ENDING, match: async () => { throw new Error('late'); } }), { message: 'late' });
  });
});

/** Whether this host knows the syntax. */
function canParse(source) {
  try {
    return Boolean(new RegExp(source));
  } catch {
    return false;
  }
}
