// `describeTools`: the declarations of tools for a model.

import { describe, mock, test } from 'node:test';
import assert from 'node:assert/strict';
import ivm from '../../../index.mjs';

const { describeTools } = ivm;
const tool = (name, inputSchema, more = {}) => ({ name, description: '', ...(inputSchema === undefined ? {} : { inputSchema }), ...more });
/** The type of the params of a tool. */
const typeOf = (schema) => /f\(params\??: ([\s\S]*)\): Promise<unknown>;\n\};\n$/.exec(describeTools([tool('t:f', schema)]))[1];

describe('places', () => {
  test('are those in the sandbox', () => {
    const tools = [
      tool('fs:read', { type: 'object', properties: { path: { type: 'string', description: 'Where' } }, required: ['path'] }, { description: 'Reads a file' }),
      tool('fs:write'), tool('search'), tool('a.b.c'), tool('my-ns:do-it'), tool('delete:class'), tool('1:2'), tool('fs:read.all'),
    ];
    assert.equal(describeTools(tools), `declare const fs: {
  /** Reads a file */
  read(params: {
    /** Where */
    path: string;
  }): Promise<unknown>;
  write(params?: unknown): Promise<unknown>;
  read_all(params?: unknown): Promise<unknown>;
};

declare const search: {
  (params?: unknown): Promise<unknown>;
};

declare const a: {
  b_c(params?: unknown): Promise<unknown>;
};

declare const my_ns: {
  do_it(params?: unknown): Promise<unknown>;
};

declare const global: {
  delete: {
    class(params?: unknown): Promise<unknown>;
  };
  "1": {
    "2"(params?: unknown): Promise<unknown>;
  };
};
`);
  });

  test('a tool whose name has one part is a function, which may have others', () => {
    assert.equal(describeTools([tool('mail:send'), tool('mail', { type: 'string' }), tool('get-it'), tool('delete')]), `declare const mail: {
  send(params?: unknown): Promise<unknown>;
  (params: string): Promise<unknown>;
};

declare const get_it: {
  (params?: unknown): Promise<unknown>;
};

declare const global: {
  delete: {
    (params?: unknown): Promise<unknown>;
  };
};
`);
  });

  test('the last tool of a name counts', () => {
    assert.equal(describeTools([tool('a:b', { type: 'string' }), tool('a:b', { type: 'number' })]), 'declare const a: {\n  b(params: number): Promise<unknown>;\n};\n');
  });

  test('`__proto__` is a name like others', () => {
    assert.equal(describeTools([tool('__proto__:__proto__'), tool('constructor:toString')]), `declare const __proto__: {
  __proto__(params?: unknown): Promise<unknown>;
};

declare const constructor: {
  toString(params?: unknown): Promise<unknown>;
};
`);
  });

  test('no tools, and what is no list of tools', () => {
    assert.equal(describeTools([]), '');
    for (const wrong of [undefined, {}, 'a', [{}], [{ name: '' }], [null]]) assert.throws(() => describeTools(wrong), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /`tools`/ });
  });
});

describe('descriptions', () => {
  test('of several lines; what ends a comment does not', () => {
    const text = describeTools([tool('t:f', undefined, { description: ' First\nsecond */ declare const evil: any; /*\r\nthird\u2028fourth ' })]);
    assert.equal(text, `declare const t: {
  /**
   * First
   * second *\\/ declare const evil: any; /*
   * third
   * fourth
   */
  f(params?: unknown): Promise<unknown>;
};
`);
  });
});

describe('types', () => {
  const TYPES = [
    [{ type: 'string' }, 'string'], [{ type: 'integer' }, 'number'], [{ type: ['string', 'null'] }, 'string | null'], [{}, 'unknown'], [{ not: {} }, 'unknown'],
    [{ enum: ['a', 1, null, true] }, '"a" | 1 | null | true'], [{ const: '"\n' }, '"\\"\\n"'], [{ enum: [{ a: 1 }] }, 'unknown'],
    [{ type: 'array', items: { type: 'string' } }, 'string[]'], [{ type: 'array', items: { enum: ['a', 'b'] } }, '("a" | "b")[]'], [{ type: 'array' }, 'unknown[]'],
    [{ type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], minItems: 1, items: false }, '[string, number?]'],
    [{ items: [{ type: 'string' }], additionalItems: { type: 'null' } }, '[string?, ...null[]]'],
    [{ type: 'object' }, 'Record<string, unknown>'], [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'], [{ type: 'object', additionalProperties: false }, '{}'],
    [{ properties: { 'a-b': { type: 'string' }, $c: {} }, required: ['a-b'], additionalProperties: true }, '{\n    "a-b": string;\n    $c?: unknown;\n    [name: string]: unknown;\n  }'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'], [{ oneOf: [{ type: 'string' }, { type: 'string' }] }, 'string'],
    [{ allOf: [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { enum: ['a', null] }] }, '(string | null) & ("a" | null)'],
    [{ type: 'object', properties: { a: { type: 'array', items: { type: 'object', properties: { b: { type: 'boolean' } } } } } }, '{\n    a?: {\n      b?: boolean;\n    }[];\n  }'],
  ];
  for (const [schema, type] of TYPES) test(JSON.stringify(schema), () => assert.equal(typeOf(schema), type));

  test('of schemas that are referred to have names', () => {
    const tree = { type: 'object', properties: { root: { $ref: '#/$defs/node' } }, required: ['root'], $defs: { node: { description: 'A node', type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } } } } };
    assert.equal(describeTools([tool('tree:add', tree), tool('tree:drop', tree)]), `/** A node */
type tree_add_node = {
  children?: tree_add_node[];
};

/** A node */
type tree_drop_node = {
  children?: tree_drop_node[];
};

declare const tree: {
  add(params: {
    root: tree_add_node;
  }): Promise<unknown>;
  drop(params: {
    root: tree_drop_node;
  }): Promise<unknown>;
};
`);
    const list = { type: 'object', properties: { next: { $ref: '#' } } };
    assert.match(describeTools([tool('t:f', list)]), /^type t_f_params = \{\n {2}next\?: t_f_params;\n\};\n[^]*f\(params\?: \{\n {4}next\?: t_f_params;\n {2}\}\)/);
    assert.match(describeTools([tool('t:f', { $ref: '#' })]), /f\(params: t_f_params\)/);
    assert.match(describeTools([tool('t:f', { $ref: 'https://example.org/' })]), /f\(params: unknown\)/);
  });

  test('params may be left out if `{}` is valid', () => {
    for (const [schema, mark] of [[undefined, '?'], [{}, '?'], [{ type: 'object' }, '?'], [{ type: ['null', 'object'] }, '?'], [{ required: ['a'] }, ''], [{ type: 'string' }, ''], [{ anyOf: [{}] }, '']]) {
      assert.ok(describeTools([tool('t:f', schema)]).includes(`f(params${mark}: `), JSON.stringify(schema));
    }
  });

  test('of results', () => {
    assert.match(describeTools([tool('t:f', undefined, { outputSchema: { type: 'array', items: { type: 'number' } } })]), /f\(params\?: unknown\): Promise<number\[\]>;/);
  });

  test('of Standard Schemas that can be converted', () => {
    const schema = (jsonSchema) => ({ '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }), ...(jsonSchema === undefined ? {} : { jsonSchema }) } });
    const made = schema({ input: ({ target }) => ({ const: `in ${target}` }), output: () => ({ const: 'out' }) });
    assert.match(describeTools([tool('t:f', made, { outputSchema: made })]), /f\(params: "in draft-2020-12"\): Promise<"out">;/);
    for (const other of [schema(), schema({}), schema({ input() { throw new Error('no'); } }), schema({ input: () => 5 })]) {
      assert.match(describeTools([tool('t:f', other)]), /f\(params\?: unknown\): Promise<unknown>;/);
    }
  });

  test('nested endlessly are unknown at some depth', () => {
    const itself = { type: 'array' };
    itself.items = itself;
    assert.match(describeTools([tool('t:f', itself)]), /unknown(?:\[\])+/);
  });
});

test('names of types that differ only by a number take linear time', () => {
  const count = 2_000;
  let looks = 0;
  const { has: original } = Set.prototype;
  const $defs = Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, { name: { type: 'string' } }]));
  const properties = Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { $ref: `#/$defs/x${index}/name` }]));
  const counted = mock.method(Set.prototype, 'has', function has(...args) {
    looks += 1;
    return Reflect.apply(original, this, args);
  });
  const text = describeTools([tool('t:f', { properties, $defs })]);
  counted.mock.restore();
  assert.ok(looks < 10 * count, `${looks}`);
  assert.match(text, /type t_f_name = string;\n\ntype t_f_name2 = string;\n/);
  assert.match(text, /p1999\?: t_f_name2000;/);
});

test('schemas that share parts are described up to a number of them', () => {
  let shared = { type: 'string' };
  for (let depth = 0; depth < 18; depth += 1) shared = { type: 'object', properties: { a: shared, b: shared } };
  const text = describeTools([tool('t:f', shared)]);
  assert.match(text, /a\?: string;/);
  assert.match(text, /b\?: unknown;/);
  assert.ok(text.length < 1_000_000, `${text.length}`);
});

test('a long chain of references needs no stack', () => {
  const count = 20_000;
  const $defs = Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, index + 1 < count ? { $ref: `#/$defs/x${index + 1}` } : {}]));
  assert.match(describeTools([tool('t:f', { $ref: '#/$defs/x0', $defs })]), /type t_f_x0 = t_f_x1;\n\ntype t_f_x1 = t_f_x2;\n/);
});

describe('schemas of tools', () => {
  const numbers = Array.from({ length: 25_000 }, (_, index) => (index + 1) * 65_536);
  const taken = (schema) => {
    const start = process.cpuUsage();
    typeOf(schema);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
  // Some engines do not seed the hashes of texts that look like array indices.
  for (const [what, schemaOf] of [
    ['values', (list) => ({ enum: list })],
    ['required names', (list) => ({ type: 'object', properties: { a: {} }, required: list.map(String) })],
  ]) {
    test(`are described in time in proportion to their size, even if their ${what} collide`, () => {
      const [plain, colliding] = [taken(schemaOf(numbers.map((number) => `k${number}`))), taken(schemaOf(numbers))];
      assert.ok(colliding < 10 * plain + 200, `${plain.toFixed(1)} ms, then ${colliding.toFixed(1)} ms`);
    });
  }
});
