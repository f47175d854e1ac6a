// `isolated-v8/tanstack-ai` with `@tanstack/ai-code-mode` itself.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { toolDefinition } from '@tanstack/ai';
import { createCodeMode } from '@tanstack/ai-code-mode';
import { z } from 'zod';
import { createIsolateDriver } from 'isolated-v8/tanstack-ai';

const weather = toolDefinition({ name: 'weather', description: 'The weather', inputSchema: z.object({ city: z.string() }) }).server(async ({ city }) => {
  if (city === 'Atlantis') throw new RangeError('no such city');
  return { city, degrees: city.length };
});

describe('code mode', () => {
  const { tool, systemPrompt } = createCodeMode({ driver: createIsolateDriver(), tools: [weather], timeout: 10_000 });

  test('runs TypeScript that calls tools', async () => {
    assert.match(systemPrompt, /external_weather/);
    const typescriptCode = `
      const cities: string[] = ['Rome', 'Lisbon'];
      const found = await Promise.all(cities.map((city: string) => external_weather({ city })));
      console.warn('found', found.length);
      return found.map(({ degrees }: { degrees: number }) => degrees);`;
    assert.deepEqual(await tool.execute({ typescriptCode }), { success: true, result: [4, 6], logs: ['WARN: found 2'] });
  });

  test('reports logs as events, by level', async () => {
    const events = [];
    const context = { emitCustomEvent: (name, value) => events.push([name, value.level, value.message]) };
    await tool.execute({ typescriptCode: 'console.log("a"); console.info("b"); console.warn("c"); console.error("d"); return 1;' }, context);
    assert.deepEqual(events.filter(([name]) => name === 'code_mode:console').map(([, ...rest]) => rest), [['log', 'a'], ['info', 'b'], ['warn', 'c'], ['error', 'd']]);
  });

  test('tools run concurrently', async () => {
    let peak = 0, now = 0;
    const slow = toolDefinition({ name: 'slow', description: 'Waits', inputSchema: z.object({ x: z.number() }) }).server(async ({ x }) => {
      peak = Math.max(peak, now += 1);
      await new Promise((resolve) => { setTimeout(resolve, 50); });
      now -= 1;
      return x;
    });
    const { tool: other } = createCodeMode({ driver: createIsolateDriver(), tools: [slow] });
    const typescriptCode = 'return await Promise.all([1, 2, 3].map((x: number) => external_slow({ x }).then((y: number) => y * 2)));';
    assert.deepEqual((await other.execute({ typescriptCode })).result, [2, 4, 6]);
    assert.equal(peak, 3);
  });

  test('reports errors', async () => {
    const { success, error } = await tool.execute({ typescriptCode: 'return await external_weather({ city: "Atlantis" });' });
    assert.deepEqual({ success, message: error.message }, { success: false, message: 'no such city' });
    assert.deepEqual((await tool.execute({ typescriptCode: 'null.x' })).error, { name: 'TypeError', message: "Cannot read properties of null (reading 'x')" });
  });
});

describe('the driver alone', () => {
  const driver = createIsolateDriver();

  test('a binding whose name cannot be declared leaves the others usable', async () => {
    const execute = async (args) => args;
    for (const name of ['delete', 'await', 'let', 'a-b', '1', '"]; throw 0; ["']) {
      const context = await driver.createContext({ bindings: { [name]: { name, execute }, good: { name: 'good', execute } }, timeout: 5_000 });
      const code = `return [await good(1), await globalThis[${JSON.stringify(name)}](2)]`;
      assert.deepEqual(await context.execute(code), { success: true, value: [1, 2], logs: [] }, name);
      await context.dispose();
    }
  });

  test('names that its own code reads are refused', async () => {
    for (const name of ['$host', 'globalThis']) {
      const context = driver.createContext({ bindings: { [name]: { name, execute: async () => 1 } } });
      await assert.rejects(context, { code: 'ERR_INVALID_ARG', message: `The name of the binding "${name}" is taken` });
    }
  });

  test('an error has name, message, stack and code', async () => {
    const context = await driver.createContext({ bindings: {}, timeout: 200, memoryLimit: 16 });
    const { success, error } = await context.execute('for (;;);');
    assert.equal(success, false);
    assert.equal(error.code, 'ERR_ISOLATE_DEADLINE');
    assert.equal(error.message, 'Execution timeout after 200ms');
    const full = await context.execute('const all = []; for (;;) all.push(new Array(10000).fill(1.5));');
    assert.ok(['ERR_ISOLATE_MEMORY', 'ERR_ISOLATE_DEADLINE'].includes(full.error.code), full.error.code);
    assert.match((await context.execute('throw new TypeError("x")')).error.stack, /^TypeError: x\n {4}at sandbox\.js:1:/);
  });

  test('`dispose` ends running code', async () => {
    const context = await driver.createContext({ bindings: {} });
    const running = context.execute('for (;;);');
    await context.dispose();
    assert.equal((await running).error.code, 'ERR_ISOLATE_ABORTED');
    assert.equal((await context.execute('return 1')).error.code, 'ERR_ISOLATE_ABORTED');
  });

  for (const name of ['external_get-price', 'external_a = 0; globalThis.injected = true; const b', 'external_"]; globalThis.injected = true; [1, "', 'external_Preis in \u20ac', '']) {
    test(`a tool's name is not run as code: ${name}`, async () => {
      const bindings = { [name]: { execute: async ({ n }) => n + 1 }, external_other: { execute: async () => 'other' } };
      const context = await driver.createContext({ bindings });
      const code = `return [await globalThis[${JSON.stringify(name)}]({ n: 1 }), await external_other({}), typeof injected]`;
      assert.deepEqual((await context.execute(code)).value, [2, 'other', 'undefined']);
    });
  }

  test('`approve` gets the names of the bindings', async () => {
    const asked = [];
    const approving = createIsolateDriver({ approve: ({ name, params }) => { asked.push([name, params]); return name === 'external_a'; } });
    const bindings = { external_a: { execute: async () => 1 }, external_b: { execute: async () => 2 } };
    const context = await approving.createContext({ bindings });
    assert.deepEqual((await context.execute('return [await external_a({ x: 1 }), await external_b({}).catch(() => "denied")]')).value, [1, 'denied']);
    assert.deepEqual(asked, [['external_a', { x: 1 }], ['external_b', {}]]);
  });

  test('wrong options are refused at once', () => {
    assert.throws(() => createIsolateDriver({ maxLogEntries: -1 }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /`maxLogEntries`/ });
  });
});
