// `isolated-v8/langchain` with `@langchain/core` itself.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { StructuredTool, tool } from '@langchain/core/tools';
import { z } from 'zod';
import { createCodeTool } from 'isolated-v8/langchain';
import { testSignals } from '../../sandbox/signal-helper.mjs';

const weather = tool(async ({ city }) => {
  if (city === 'Atlantis') throw new RangeError('no such city');
  return { city, degrees: city.length };
}, { name: 'get-weather', description: 'The weather in a city', schema: z.object({ city: z.string() }) });

describe('a tool with other tools', () => {
  const code = createCodeTool(tool, { tools: [weather], timeout: 10_000, name: 'program' });
  const run = async (text, config) => JSON.parse(await code.invoke({ code: text }, config));

  test('is one of LangChain', async () => {
    assert.equal(code.name, 'program');
    assert.match(code.description, /\ndeclare const tools: \{\n  \/\*\* The weather in a city \*\/\n  get_weather\(params: \{\n    city: string;\n[^]*\}\): Promise<unknown>;\n\};\n$/);
    const message = await code.invoke({ type: 'tool_call', id: 'one', name: 'program', args: { code: 'return 6 * 7' } });
    assert.equal(message.getType(), 'tool');
    assert.deepEqual(JSON.parse(message.content), { success: true, result: 42, logs: [] });
  });

  test('runs programs', async () => {
    const text = `
      const found = await Promise.all(['Rome', 'Lisbon'].map((city) => tools.get_weather({ city })));
      console.log('found', found.length);
      return found.map(({ degrees }) => degrees);`;
    assert.deepEqual(await run(text), { success: true, result: [4, 6], logs: ['found 2'] });
  });

  test('reports errors', async () => {
    assert.equal((await run('await tools.get_weather({ city: "Atlantis" })')).error.message, 'no such city');
    assert.match((await run('await tools.get_weather({ city: 1 })')).error.message, /schema/);
    const { line, frame } = (await run('const a = 1;\nnull.x')).error;
    assert.equal(line, 2);
    assert.match(frame, /> 2 \| null\.x/);
    await assert.rejects(code.invoke({ code: 1 }), /schema/);
  });

  test('an abort ends it', async () => {
    const aborted = new AbortController();
    setTimeout(() => aborted.abort(), 50);
    await assert.rejects(code.invoke({ code: 'for (;;);' }, { signal: aborted.signal }));
  });
});

test('`approve` gets the names of the tools', async () => {
  const asked = [];
  const code = createCodeTool(tool, { tools: [weather], approve: ({ name, params }) => { asked.push([name, params]); return params.city === 'Rome'; } });
  const text = 'return [(await tools.get_weather({ city: "Rome" })).degrees, await tools.get_weather({ city: "Lisbon" }).catch(({ message }) => message)]';
  assert.deepEqual(JSON.parse(await code.invoke({ code: text })).result, [4, 'The call of the tool "get-weather" was not approved']);
  assert.deepEqual(asked, [['get-weather', { city: 'Rome' }], ['get-weather', { city: 'Lisbon' }]]);
});

test('`approve` sees what the tools get', async () => {
  const [asked, got] = [[], []];
  const schema = z.object({ path: z.string().trim(), count: z.number().default(100) });
  const remove = tool(async (params) => { got.push(params); return 'done'; }, { name: 'remove', description: 'Removes', schema });
  const shout = tool(async (text) => text.toUpperCase(), { name: 'shout', description: 'Shouts' });
  const code = createCodeTool(tool, { tools: [remove, shout], approve: ({ params }) => { asked.push(params); return params.path !== '/etc'; } });
  const run = async (text) => JSON.parse(await code.invoke({ code: text }));
  const { error } = await run('return tools.remove({ path: " /etc" })');
  assert.equal(error.message, 'The call of the tool "remove" was not approved');
  assert.equal((await run('return tools.remove({ path: "/tmp " })')).result, 'done');
  assert.equal((await run('return tools.shout("a")')).result, 'A');
  assert.match((await run('return tools.remove({ path: 1 })')).error.message, /^path: ./);
  assert.deepEqual(asked, [{ path: '/etc', count: 100 }, { path: '/tmp', count: 100 }, 'a']);
  assert.deepEqual(got, [{ path: '/tmp', count: 100 }]);
});

test('params cannot pass for a call of LangChain, which would hold other params and get what models do not see', async () => {
  const got = [];
  const find = tool(async (params) => { got.push(params); return ['public', { secret: 1 }]; }, { name: 'find', description: 'Finds', schema: z.object({ city: z.string() }), responseFormat: 'content_and_artifact' });
  const message = 'The params of the tool "find" must not have the `type` "tool_call"';
  for (const approve of [undefined, ({ params }) => params.city === 'Rome']) {
    const code = createCodeTool(tool, { tools: [find], approve });
    const run = async (text) => JSON.parse(await code.invoke({ code: text }));
    assert.equal((await run('return tools.find({ type: "tool_call", id: "one", name: "find", city: "Rome", args: { city: "Lisbon" } })')).error.message, message);
    assert.equal((await run('return tools.find({ city: "Rome" })')).result, 'public');
  }
  assert.deepEqual(got, [{ city: 'Rome' }, { city: 'Rome' }]);
});

describe('a tool with a JSON Schema', () => {
  const got = [];
  const codeFor = (schema, options) => createCodeTool(tool, { ...options, tools: [tool(async (params) => { got.push(params); return 'called'; }, { name: 'find', description: 'Finds', schema })] });
  const run = async (code, text) => JSON.parse(await code.invoke({ code: text }));

  test('its params are checked', async () => {
    const code = codeFor({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }, { approve: ({ params }) => params.city !== 'Rome' });
    assert.match(code.description, /find\(params: \{\n    city: string;/);
    assert.equal((await run(code, 'return tools.find({ city: "Oslo", more: 1 })')).result, 'called');
    assert.match((await run(code, 'return tools.find({ city: 1 })')).error.message, /params\.city must be a string$/);
    assert.match((await run(code, 'return tools.find({ city: "Rome" })')).error.message, /was not approved$/);
    assert.match((await run(code, 'return tools.find({ type: "tool_call", id: "one", name: "find", city: "Oslo", args: { city: 1 } })')).error.message, /must not have the `type` "tool_call"$/);
    assert.deepEqual(got.splice(0), [{ city: 'Oslo', more: 1 }]);
  });

  // LangChain would check them on this thread, in one piece: by the first two for seconds.
  test('checking its params does not block the event loop', async () => {
    const text = "const name = 'a'.repeat(40) + '!'; return tools.find({ name, [name]: 1 })";
    for (const schema of [{ properties: { name: { pattern: '^(a+)+$' } } }, { patternProperties: { '^(a+)+$': false } }]) {
      const { code } = (await run(codeFor({ type: 'object', ...schema }, { timeout: 500 }), text)).error;
      assert.equal(code, 'ERR_ISOLATE_DEADLINE');
    }
    const unique = codeFor({ type: 'object', properties: { all: { type: 'array', uniqueItems: true } } });
    assert.equal((await run(unique, 'return tools.find({ all: Array.from({ length: 10000 }, (_, id) => ({ id })) })')).result, 'called');
    assert.equal(got.splice(0).length, 1);
  });

  test('the code of classes runs on their own objects', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    class Finder extends StructuredTool {
      name = 'find';
      description = 'Finds';
      schema = schema;
      #calls = 0;
      async _call({ city }) {
        this.#calls += 1;
        return `${city} ${this.#calls}`;
      }
    }
    class Plain {
      name = 'plain';
      schema = schema;
      #word = 'plain';
      async invoke({ city }) {
        return `${city} ${this.#word}`;
      }
    }
    const code = createCodeTool(tool, { tools: [new Finder(), new Plain()] });
    const found = await run(code, 'return [await tools.find({ city: "Oslo" }), await tools.find({ city: "Rome" }), await tools.plain({ city: "Bonn" })]');
    assert.deepEqual(found.result, ['Oslo 1', 'Rome 2', 'Bonn plain']);
  });

  test('one that the sandbox cannot check is refused', () => {
    const refused = { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /"find" is not supported: .*`unevaluatedProperties`/ };
    assert.throws(() => codeFor({ type: 'object', unevaluatedProperties: false }), refused);
  });
});

test('what is refused', () => {
  const refused = { name: 'TypeError', code: 'ERR_INVALID_ARG' };
  assert.throws(() => createCodeTool(undefined), { ...refused, message: /`tool`/ });
  assert.throws(() => createCodeTool(tool, { timeout: 0 }), { ...refused, message: /`timeout`/ });
  assert.throws(() => createCodeTool(tool, { tools: [{ name: 'x' }] }), { ...refused, message: 'The tool "x" has no `invoke`' });
  assert.throws(() => createCodeTool(tool, { tools: ['a-b', 'a_b'].map((name) => ({ name, invoke: async () => 1 })) }), { ...refused, message: /"a-b" and "a_b"/ });
});

describe('a tool of LangChain', () => testSignals((spy, options) => {
  const tools = [tool((_, { signal, metadata }) => spy(signal, metadata.id), { name: 'spy', description: '', schema: z.object({}) })];
  const code = createCodeTool(tool, { ...options, tools });
  return (text, signal) => code.invoke({ code: text }, { metadata: { id: 'one' }, signal });
}));

describe('a tool of others', () => testSignals((spy, options) => {
  const tools = [{ name: 'spy', invoke: async (_, { signal, metadata }) => spy(signal, metadata.id) }];
  const code = createCodeTool((run) => run, { ...options, tools });
  return (text, signal) => code({ code: text }, { metadata: { id: 'one' }, signal });
}));
