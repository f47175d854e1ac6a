// `isolated-v8/mastra` with `@mastra/core` itself.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createCodeMode, createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { createCodeModeTransport } from 'isolated-v8/mastra';

const weather = createTool({
  id: 'get-weather',
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    if (city === 'Atlantis') throw new RangeError('no such city');
    return { city, degrees: city.length };
  },
});
/** What Mastra passes to a tool that is called without an agent. */
const context = { observe: { span: (_, run) => run(), log() {} } };

describe('code mode', () => {
  const { tool, instructions } = createCodeMode({ tools: { weather }, timeout: 10_000 }, createCodeModeTransport());
  const run = (code) => tool.execute({ code }, context);

  test('runs TypeScript that calls tools', async () => {
    assert.match(instructions, /external_get_weather/);
    const code = `
      const cities: string[] = ['Rome', 'Lisbon'];
      const found = await Promise.all(cities.map((city: string) => external_get_weather({ city })));
      console.warn('found', found.length);
      return found.map(({ degrees }: { degrees: number }) => degrees);`;
    assert.deepEqual(await run(code), { success: true, result: [4, 6], logs: ['found 2'] });
  });

  test('reports errors', async () => {
    assert.equal((await run('return await external_get_weather({ city: "Atlantis" })')).error.message, 'no such city');
    assert.match((await run('return await external_get_weather({ city: 1 })')).error.message, /city/);
    assert.deepEqual((await run('const a = 1;\nnull.x')).error, { name: 'TypeError', message: "Cannot read properties of null (reading 'x')", line: 2 });
    assert.equal((await run('return typeof process + typeof require + typeof fetch')).result, 'undefinedundefinedundefined');
  });
});

describe('the transport alone', () => {
  const transport = createCodeModeTransport({ memoryLimit: 16 });
  const run = (program, options, by = transport) => by.run({ program, toolIds: ['a', '1-b'], dispatch: async (tool, args) => [tool, args], timeout: 5_000, ...options });
  const runLarge = (program) => run(program, {}, createCodeModeTransport({ maxOutputSize: 2 ** 26 }));

  test('names and calls', async () => {
    const calls = [];
    const outcome = await run('return [await external_a(1), await external__1_b({ x: 2 })]', {
      onExternalCall: (tool, args) => calls.push(['call', tool, args]),
      onExternalResult: (tool, ms, error) => calls.push(['result', tool, typeof ms, error]),
    });
    assert.deepEqual(outcome, { success: true, result: [['a', 1], ['1-b', { x: 2 }]], logs: [] });
    assert.deepEqual(calls, [['call', 'a', 1], ['result', 'a', 'number', undefined], ['call', '1-b', { x: 2 }], ['result', '1-b', 'number', undefined]]);
  });

  test('hooks that throw or reject have no effect, and are reported', async () => {
    const reports = [];
    const listener = ({ error, origin }) => { reports.push(`${origin}: ${error.message}`); };
    subscribe('isolated-v8:unhandled-host-error', listener);
    const program = 'const failed = await external__1_b(2).catch(({ message }) => message); return [await external_a(1), failed]';
    const dispatch = async (tool) => {
      if (tool !== 'a') throw new RangeError(`no ${tool}`);
      return tool;
    };
    const fail = (message) => { throw new Error(message); };
    const asynchronous = { onExternalCall: async (tool) => fail(`call ${tool}`), onExternalResult: async (tool, _, error) => fail(`result ${tool} ${error?.message}`) };
    const synchronous = { onExternalCall: (tool) => fail(`call ${tool}`), onExternalResult: (tool, _, error) => fail(`result ${tool} ${error?.message}`) };
    for (const hooks of [asynchronous, synchronous]) {
      assert.deepEqual((await run(program, { dispatch, ...hooks })).result, ['a', 'no 1-b']);
      await new Promise((resolve) => { setImmediate(resolve); });
      assert.deepEqual(reports.splice(0), ['tool: call 1-b', 'tool: result 1-b no 1-b', 'tool: call a', 'tool: result a undefined']);
    }
    unsubscribe('isolated-v8:unhandled-host-error', listener);
  });

  test('`approve` gets the ids of the tools', async () => {
    const asked = [];
    const approving = createCodeModeTransport({ approve: ({ name, params }) => { asked.push([name, params]); return name !== '1-b'; } });
    const program = 'return [await external_a(1), await external__1_b({ x: 2 }).catch(({ message }) => message)]';
    const { result } = await approving.run({ program, toolIds: ['a', '1-b'], dispatch: async (id) => id, timeout: 5_000 });
    assert.deepEqual(result, ['a', 'The call of the tool "1-b" was not approved']);
    assert.deepEqual(asked, [['a', 1], ['1-b', { x: 2 }]]);
  });

  test('limits', async () => {
    assert.equal((await run('for (;;);', { timeout: 200 })).error.name, 'TimeoutError');
    assert.equal((await run('const all = []; for (;;) all.push(new Array(1000).fill(1.5));')).success, false);
    const aborted = new AbortController();
    setTimeout(() => aborted.abort(new Error('enough')), 50);
    assert.match((await run('for (;;);', { abortSignal: aborted.signal })).error.message, /enough/);
    assert.match((await run('const a = {}; a.a = a; return a;')).error.message, /^The result cannot be written as JSON: /);
    assert.match((await run('return "x".repeat(2 ** 21)')).error.message, /exceeds the maximum output size of 1048576 bytes$/);
    // JSON takes twelve times as many bytes as these have.
    for (const code of ['return new Uint8Array(1e6)', 'const some = new Uint8Array(1000); return Array(1000).fill({ some })', 'return [[new Float64Array(1e5 + 1)]]']) {
      assert.match((await runLarge(code)).error.message, /^The result cannot be written as JSON: it has more than 100000 elements of typed arrays$/, code);
    }
    assert.equal((await runLarge('return "x".repeat(2 ** 21)')).result.length, 2 ** 21);
    assert.equal(Object.keys((await run('return new Uint8Array(1e5)')).result).length, 1e5);
  });

  test('two tools with the same name in code are refused', async () => {
    const { success, error } = await createCodeModeTransport().run({ program: 'return 1', toolIds: ['a', 'b-c', 'b_c'], dispatch: async (id) => id, timeout: 5_000 });
    assert.deepEqual([success, error], [false, { name: 'TypeError', message: 'The tools "b-c" and "b_c" have the same name in code: external_b_c' }]);
  });

  test('names of many tools are compared in little time', async () => {
    const toolIds = [...Array.from({ length: 30_000 }, (_, index) => `tool-of-a-server-${index}`), 'tool_of-a-server-29999'];
    const before = process.cpuUsage();
    const { error } = await run('return 1', { toolIds });
    const { user, system } = process.cpuUsage(before);
    assert.match(error.message, /^The tools "tool-of-a-server-29999" and "tool_of-a-server-29999" have the same name/);
    // Comparing each with each takes seconds.
    assert.ok(user + system < 500_000, `${user + system} µs`);
  });

  test('wrong options are refused at once', () => {
    assert.throws(() => createCodeModeTransport({ maxLogEntries: -1 }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /`maxLogEntries`/ });
  });
});
