// `isolated-v8/langchain` with `@langchain/core` itself.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { createCodeTool } from 'isolated-v8/langchain';

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

test('what is refused', () => {
  const refused = { name: 'TypeError', code: 'ERR_INVALID_ARG' };
  assert.throws(() => createCodeTool(undefined), { ...refused, message: /`tool`/ });
  assert.throws(() => createCodeTool(tool, { timeout: 0 }), { ...refused, message: /`timeout`/ });
  assert.throws(() => createCodeTool(tool, { tools: [{ name: 'x' }] }), { ...refused, message: 'The tool "x" has no `invoke`' });
  assert.throws(() => createCodeTool(tool, { tools: ['a-b', 'a_b'].map((name) => ({ name, invoke: async () => 1 })) }), { ...refused, message: /"a-b" and "a_b"/ });
});
