// The schemas of tools: params are validated before the tool gets them, by the function of a Standard Schema or by a JSON Schema.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';
import { calls, gate, onceCalled, resultOf, SANDBOXES, thenable, tool } from '../../sandbox/tool-helper.mjs';

/** A Standard Schema. */
const standard = (validate, more = {}) => ({ '~standard': { version: 1, vendor: 'test', validate, ...more } });
const echo = async (_name, params) => params;
const refused = (...issues) => ({ name: 'TypeError', message: `Invalid params for the tool "t:f": ${issues.join('; ')}` });

for (const [kind, Sandbox] of Object.entries(SANDBOXES)) {
  describe(`${kind}: a Standard Schema`, () => {
    const withSchema = (inputSchema) => [tool('t:f', { inputSchema })];

    test('its output is what the tool gets', async () => {
      const schemas = {
        now: standard(({ n }) => ({ value: { n: n * 2, added: true } })),
        later: standard(async ({ n }) => ({ value: { n: n * 2, added: true } })),
        thenable: standard(({ n }) => thenable(() => (resolve) => resolve({ value: { n: n * 2, added: true } }))),
        // As ArkType's.
        callable: Object.assign(() => {}, standard(({ n }) => ({ value: { n: n * 2, added: true }, issues: undefined }))),
        inherited: new (class { get '~standard'() { return standard(({ n }) => ({ value: { n: n * 2, added: true } }))['~standard']; } })(),
      };
      for (const [what, schema] of Object.entries(schemas)) {
        const seen = [];
        const executor = async (name, params) => { seen.push([name, params]); return params.n; };
        assert.equal(await resultOf(new Sandbox(), 'return await t.f({ n: 2 })', withSchema(schema), executor), 4, what);
        assert.deepEqual(seen, [['t:f', { n: 4, added: true }]], what);
      }
    });

    test('gets the params once, as data, and its own receiver', async () => {
      const seen = [];
      const schema = standard(function validate(...args) { seen.push([this === schema['~standard'], args]); return { value: 1 }; });
      const code = 'let reads = 0; await t.f({ get a() { return reads += 1 }, f() {}, d: new Date(0) }); await t.f(); return reads';
      assert.equal(await resultOf(new Sandbox(), code, withSchema(schema), async () => 1), 1);
      assert.deepEqual(seen, [[true, [{ a: 1, d: '1970-01-01T00:00:00.000Z' }]], [true, [{}]]]);
    });

    test('issues are an error of the guest, and the tool is not called', async () => {
      const issues = {
        one: [[{ message: 'no' }], ['params: no']],
        several: [[{ message: 'a', path: ['x', 0, 'y'] }, { message: 'b', path: [{ key: 'z' }] }], ['params.x[0].y: a', 'params.z: b']],
        odd: [[null, {}, { message: 5, path: 'x' }, { message: 'm', path: [Symbol('s'), null, {}, 'k'] }], ['params: is not valid', 'params: is not valid', 'params: is not valid', 'params.k: m']],
        many: [Array.from({ length: 100_000 }, (_, index) => ({ message: `m${index}` })), Array.from({ length: 10 }, (_, index) => `params: m${index}`)],
        long: [[{ message: 'x'.repeat(100_000) }], [`params: ${'x'.repeat(500)}`]],
        'no list': ['wrong', ['not valid']],
      };
      for (const [what, [list, expected]] of Object.entries(issues)) {
        for (const validate of [() => ({ issues: list, value: 1 }), async () => ({ issues: list })]) {
          let called = 0;
          const [outcome] = await resultOf(new Sandbox(), calls('{}'), withSchema(standard(validate)), async () => { called += 1; });
          assert.deepEqual([outcome, called], [refused(...expected), 0], what);
        }
      }
    });

    test('one that fails is an error of the guest, with the message', async () => {
      const failures = {
        throws: () => { throw new RangeError('validator'); },
        rejects: async () => { throw new RangeError('validator'); },
        'throws later': () => thenable(() => { throw new RangeError('validator'); }),
        'has no result': () => undefined,
        'has no result later': async () => 'valid',
        'has throwing issues': () => ({ get issues() { throw new RangeError('validator'); } }),
      };
      for (const [what, validate] of Object.entries(failures)) {
        let called = 0;
        const [outcome] = await resultOf(new Sandbox(), calls('{}'), withSchema(standard(validate)), async () => { called += 1; });
        assert.equal(called, 0, what);
        assert.match(outcome.message, /^(?:validator|The schema of the tool "t:f" gave no result)$/, what);
      }
    });

    test('one that never ends does not outlive the execution, and its tool is not called', async () => {
      for (const end of ['timeout', 'abort', 'dispose', 'guest']) {
        const { promise, open } = gate();
        let called = 0;
        const { controller, execution, sandbox } = await onceCalled((timeout) => {
          const started = gate();
          const schema = standard(async () => { started.open(); await promise; return { value: 1 }; });
          const made = new Sandbox({ timeout: end === 'timeout' ? timeout : 20_000 });
          const aborts = new AbortController();
          const code = end === 'guest' ? 't.f(); await t.g(); return 1' : 'await t.f()';
          const executor = async (name) => { called += name === 't:f' ? 1 : 0; };
          const begun = made.execute(code, [tool('t:f', { inputSchema: schema }), tool('t:g')], executor, { signal: aborts.signal });
          return { sandbox: made, controller: aborts, called: started.promise, execution: begun };
        });
        if (end === 'abort') controller.abort();
        if (end === 'dispose') sandbox.dispose();
        const { error } = await execution;
        assert.equal(error === undefined, end === 'guest', `${end}: ${error}`);
        open();
        await new Promise((resolve) => { setTimeout(resolve, 20); });
        assert.equal(called, 0, end);
      }
    });

    test('many calls are validated each', async () => {
      let validated = 0;
      const schema = standard(({ i }) => { validated += 1; return i % 2 === 0 ? { value: i } : { issues: [{ message: 'odd' }] }; });
      const code = 'const all = await Promise.allSettled(Array.from({ length: 1000 }, (_, i) => t.f({ i }))); return all.filter(({ status }) => status === "fulfilled").length';
      assert.equal(await resultOf(new Sandbox(), code, withSchema(schema), echo), 500);
      assert.equal(validated, 1000);
    });

    test('an invalid one is refused by the name of its tool', async () => {
      for (const inputSchema of [{ '~standard': {} }, { '~standard': { validate: 'no' } }, 5, 'object', [], () => {}]) {
        await assert.rejects(new Sandbox().execute('1', withSchema(inputSchema), echo), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: '`inputSchema` of the tool "t:f" must be a Standard Schema or a JSON Schema' });
      }
      for (const inputSchema of [undefined, null]) assert.equal(await resultOf(new Sandbox(), 'return 1', withSchema(inputSchema), echo), 1);
      const hidden = Object.defineProperty({}, '~standard', { get() { throw new Error('unreadable'); } });
      await assert.rejects(new Sandbox().execute('1', withSchema(hidden), echo), /unreadable/);
    });
  });

  describe(`${kind}: a JSON Schema`, () => {
    const withSchema = (inputSchema) => [tool('t:f', { inputSchema })];
    const weather = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        city: { type: 'string', minLength: 1, description: 'Where' },
        days: { type: 'integer', minimum: 1, maximum: 7 },
        units: { enum: ['metric', 'imperial'] },
      },
      required: ['city'],
      additionalProperties: false,
    };

    test('valid params reach the tool unchanged, invalid ones do not', async () => {
      const seen = [];
      const executor = async (_name, params) => { seen.push(params); return 'called'; };
      const params = ['{ city: "Oslo" }', '{ city: "Oslo", days: 3, units: "metric" }', '{}', '{ city: 5, days: 0.5, units: "x", more: 1 }', '"Oslo"', '[]', 'undefined'];
      assert.deepEqual(await resultOf(new Sandbox(), calls(...params), withSchema(weather), executor), [
        { value: 'called' },
        { value: 'called' },
        refused('params.city is required'),
        refused('params.city must be a string', 'params.days must be an integer', 'params.units must be one of "metric", "imperial"', 'params.more is not permitted'),
        refused('params must be an object'),
        refused('params must be an object'),
        refused('params.city is required'),
      ]);
      assert.deepEqual(seen, [{ city: 'Oslo' }, { city: 'Oslo', days: 3, units: 'metric' }]);
    });

    test('keys such as `__proto__` are keys', async () => {
      const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"number"},"constructor":{"type":"string"}},"required":["__proto__"],"additionalProperties":false}');
      const params = ['JSON.parse(\'{"__proto__":1}\')', 'JSON.parse(\'{"__proto__":"x"}\')', '{}', '{ __proto__: { a: 1 } }', 'JSON.parse(\'{"__proto__":1,"constructor":1,"toString":1}\')'];
      const seen = [];
      const executor = async (_name, value) => { seen.push([Object.keys(value), Object.getPrototypeOf(value) === Object.prototype]); return 1; };
      assert.deepEqual(await resultOf(new Sandbox(), calls(...params), withSchema(schema), executor), [
        { value: 1 },
        refused('params.__proto__ must be a number'),
        refused('params.__proto__ is required'),
        refused('params.__proto__ is required'),
        refused('params.constructor must be a string', 'params.toString is not permitted'),
      ]);
      assert.deepEqual(seen, [[['__proto__'], true]]);
    });

    test('with keywords that are not supported it is refused, and they are named', async () => {
      const wrong = {
        unevaluatedProperties: { type: 'object', unevaluatedProperties: false },
        $dynamicRef: { properties: { a: { $dynamicRef: '#x' } } },
        '`#/$ref`': { $ref: 'https://example.org/schema' },
        '`#/items/$ref`': { items: { $ref: '#/$defs/missing' } },
        '`#/properties/a/type`': { properties: { a: { type: 'date' } } },
        '`#/pattern`': { pattern: '(' },
        // Each of these takes seconds to create, or to match for the first time, in one of the hosts.
        '`#/properties/a/pattern`': { properties: { a: { pattern: `[${'\\p{L}'.repeat(1_000)}]` } } },
        '`#/additionalProperties/pattern`': { additionalProperties: { pattern: Array.from({ length: 2_000 }, (_, index) => `(?<a${index}>b)`).join('') } },
        'take too long to create': { allOf: Array.from({ length: 30 }, (_, index) => ({ properties: { [`a${index}`]: { pattern: `[${'\\p{L}'.repeat(100)}]` } } })) },
        '`#/required`': { required: 'a' },
        '`#/maximum`': { maximum: '5' },
        '`#/anyOf`': { anyOf: [] },
        '`#/properties/x`': { properties: { x: 'string' } },
      };
      for (const [name, schema] of Object.entries(wrong)) {
        await assert.rejects(new Sandbox().execute('1', withSchema(schema), echo), ({ code, message }) => {
          assert.equal(code, 'ERR_INVALID_ARG');
          assert.ok(message.startsWith('`inputSchema` of the tool "t:f" is not supported: ') && message.includes(name), message);
          return true;
        });
      }
    });

    test('a pattern that is valid only without the flag `u` counts once', async () => {
      // Engines stop at `\\-`.
      const pattern = `^\\-?${Array.from({ length: 900 }, (_, index) => `(?<a${index}>)`).join('')}$`;
      const schema = { allOf: [{ pattern }, { pattern: `${pattern}|b` }, { pattern: `${pattern}|c` }] };
      assert.equal(await resultOf(new Sandbox(), 'return await t.f("-")', withSchema(schema), echo), '-');
    });

    test('a promise for a schema delays only calls of its tool, until the execution ends', async () => {
      const never = { name: 't:never', description: '', inputSchema: new Promise(() => {}) };
      const tools = (inputSchema) => [...withSchema(inputSchema), never];
      const object = { type: 'object', required: ['a'] };
      const invalid = { type: 'object', $dynamicRef: '#' };
      const code = 'return [await t.f({ a: 1 }), await t.f({}).then(() => "valid", ({ message }) => message)]';
      for (const schema of [Promise.resolve(object), thenable(() => (resolve) => { resolve(object); })]) {
        const [value, message] = await resultOf(new Sandbox(), code, tools(schema), echo);
        assert.deepEqual(value, { a: 1 });
        assert.match(message, /params\.a is required/);
      }
      assert.deepEqual(await resultOf(new Sandbox(), code, tools(Promise.resolve(standard(() => ({ value: 'checked' })))), echo), ['checked', 'valid']);
      assert.deepEqual(await resultOf(new Sandbox(), code, tools(Promise.resolve(undefined)), echo), [{ a: 1 }, 'valid']);
      const failing = 'return await t.f({}).catch(({ message }) => message)';
      assert.equal(await resultOf(new Sandbox(), failing, tools(Promise.reject(new Error('no schema'))), echo), 'no schema');
      assert.match(await resultOf(new Sandbox(), failing, tools(Promise.resolve(invalid)), echo), /is not supported: .*\$dynamicRef/);
      const { failure } = await new Sandbox({ timeout: 500 }).execute('return await t.never({})', tools(object), echo);
      assert.equal(failure.code, 'ERR_ISOLATE_DEADLINE');
    });

    test('a schema that refers to itself takes time in proportion to the params', async () => {
      // Without a memory, each level of the params would double the work.
      const tree = { type: 'object', anyOf: [{ properties: { a: { $ref: '#' }, end: { const: 1 } } }, { properties: { a: { $ref: '#' }, end: { const: 2 } } }] };
      const code = (end) => `let params = { end: ${end} }; for (let i = 0; i < 60; i += 1) params = { a: params }; return await t.f(params).then(() => 'valid', ({ message }) => message)`;
      const start = performance.now();
      assert.equal(await resultOf(new Sandbox(), code(2), withSchema(tree), echo), 'valid');
      assert.match(await resultOf(new Sandbox(), code(3), withSchema(tree), echo), /params matches none of 2 permitted forms/);
      assert.ok(performance.now() - start < 10_000);
    });

    test('params that are nested too deeply are an error', async () => {
      const list = { items: { $ref: '#' } };
      const code = 'let params = []; for (let i = 0; i < 20_000; i += 1) params = [params]; return await t.f(params).then(() => "valid", ({ message }) => message)';
      assert.match(await resultOf(new Sandbox(), code, withSchema(list), echo), /nested too deeply|stack|depth/i);
    });

    test('a pattern that backtracks endlessly holds neither the host nor the execution', async () => {
      const schema = withSchema({ properties: { text: { pattern: '^(a+)+$' } }, patternProperties: { '^(b+)+$': {} } });
      const code = (params) => `return await t.f(${params}).then(() => 'valid', ({ message }) => message)`;
      assert.equal(await resultOf(new Sandbox({ poolSize: 0 }), code('{ text: "aaa", bb: 1 }'), schema, echo), 'valid');
      assert.match(await resultOf(new Sandbox({ poolSize: 0 }), code('{ text: "aab" }'), schema, echo), /params\.text must match/);
      const { warm } = ivm.engineStats();
      const started = performance.now();
      for (const params of ['{ text: "a".repeat(34) + "!" }', '{ ["b".repeat(34) + "!"]: 1 }']) {
        const { result, failure } = await new Sandbox({ poolSize: 0, timeout: 1_000 }).execute(code(params), schema, echo);
        // The code may see that the time is over before it is stopped.
        assert.match(failure?.code ?? result, /DEADLINE|deadline|disposed/);
      }
      // Their isolates end, too.
      while (ivm.engineStats().warm > warm && performance.now() - started < 20_000) await new Promise((resolve) => { setTimeout(resolve, 10); });
      // On the host's thread, each takes more than half a minute.
      assert.ok(performance.now() - started < 20_000);
    });

    test('large params leave the event loop its turns, and stop with the execution', async () => {
      const schema = { type: 'array', uniqueItems: true, items: { type: 'object', properties: { n: { type: 'integer' } } } };
      const code = 'return await t.f(Array.from({ length: 60_000 }, (_, n) => ({ n }))).then(() => "valid", ({ message }) => message)';
      let ticks = 0;
      const interval = setInterval(() => { ticks += 1; }, 5);
      try {
        assert.equal(await resultOf(new Sandbox(), code, withSchema(schema), async () => 1), 'valid');
      } finally {
        clearInterval(interval);
      }
      assert.ok(ticks > 0, `${ticks}`);
      assert.match(await resultOf(new Sandbox(), code.replace('({ n })', '({ n: n % 50_000 })'), withSchema(schema), echo), /params must not have equal items/);
    });

    test('the keys of a large object are listed once at most, however many schemas look at it', async () => {
      const { keys } = Object;
      let lists = 0;
      Object.keys = (object) => {
        const list = keys(object);
        lists += list.length > 10_000 ? 1 : 0;
        return list;
      };
      try {
        const forms = Array.from({ length: 10 }, (_, index) => ({ type: 'object', required: ['kind'], maxProperties: 1e6, properties: { kind: { const: index } } }));
        for (const [what, schema, issue] of [
          ['alternatives', { anyOf: forms }, /params matches none of 10 permitted forms/],
          ['constants', { enum: Array.from({ length: 10 }, (_, index) => ({ kind: index })) }, /params must be one of/],
          ['conditions', { allOf: forms.map((form) => ({ if: form, else: true })), oneOf: [...forms, true, true] }, /params matches more than one/],
          ['unique items', { properties: { list: { uniqueItems: true } } }, /params\.list must not have equal items/],
        ]) {
          lists = 0;
          const code = 'const o = { kind: 20 }; for (let i = 0; i < 20_000; i += 1) o["k" + i] = i; o.list = [{ ...o }, 1, { ...o }]; return await t.f(o).then(() => "valid", ({ message }) => message)';
          assert.match(await resultOf(new Sandbox(), code, withSchema(schema), async () => 1), issue, what);
          assert.ok(lists <= 3, `${what}: ${lists} lists of keys`);
        }
      } finally {
        Object.keys = keys;
      }
    });

    test('the path to an issue takes no time for the characters of long keys', async () => {
      const { prototype } = RegExp;
      const { test: matches } = prototype;
      let longest = 0;
      prototype.test = function counting(text) {
        longest = Math.max(longest, String(text).length);
        return Reflect.apply(matches, this, [text]);
      };
      try {
        const code = 'const k = "k".repeat(100_000); return await t.f({ [k]: { [k]: { short: 1 } } }).catch(({ message }) => message)';
        const path = `\\["k{100}"\\]`.repeat(2);
        assert.match(await resultOf(new Sandbox(), code, withSchema({ type: 'object', additionalProperties: { $ref: '#' } }), echo), new RegExp(`params${path}\\.short must be an object`));
        assert.ok(longest < 10_000, `${longest}`);
      } finally {
        prototype.test = matches;
      }
    });

    test('items are unique whatever the order of their keys, and lists and objects differ', async () => {
      const code = (items) => `return await t.f(${items}).then(() => "valid", ({ message }) => message)`;
      const unique = [
        '[[], {}, "[", "{", [1], { 0: 1 }, [[1]], [1, 2], { 1: 2 }, [[1], 2], "1", 1, null, [null]]',
        String.raw`["1", "\"1", "\"\"1", 1, "#1", "\"#1", "##1", "null", null, "true", true, { 1: 1 }, { "#1": 1 }, { "\"1": 1 }]`,
        '[Array.from({ length: 64 }, () => 1), Array.from({ length: 65 }, () => 1), [Array.from({ length: 64 }, () => 1), 1]]',
        '[{ a: 1, b: 2 }, { a: 2, b: 1 }, { a: { b: 1 } }, { a: {}, b: 1 }]',
      ];
      const equal = ['[{ a: 1, b: [2] }, 0, { b: [2], a: 1 }]', '[[{}], [{}]]', '["1", 1, "1"]', '["#1", "#1"]', '[0, 1.5, -0]', '[1e400, Infinity]',
        '[Object.fromEntries(Array.from({ length: 200 }, (_, i) => ["k" + i, i])), Object.fromEntries(Array.from({ length: 200 }, (_, i) => ["k" + (199 - i), 199 - i]))]'];
      for (const items of unique) assert.equal(await resultOf(new Sandbox(), code(items), withSchema({ uniqueItems: true }), async () => 1), 'valid', items);
      for (const items of equal) assert.match(await resultOf(new Sandbox(), code(items), withSchema({ uniqueItems: true }), async () => 1), /must not have equal items/, items);
    });
  });
}
