// `isolated-v8/ai-sdk` with `ai` itself.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { asSchema, generateText, jsonSchema, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { createCodeTool } from 'isolated-v8/ai-sdk';
import { testSignals } from '../../sandbox/signal-helper.mjs';

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };

/** A model that calls a tool once. What it is asked is put into `asked`. */
const modelThatCalls = (toolName, input, asked) => new MockLanguageModelV4({
  async doGenerate(options) {
    asked.push(options);
    return {
      content: [{ type: 'tool-call', toolCallId: 'one', toolName, input: JSON.stringify(input) }],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    };
  },
});

const weather = tool({
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string(), unit: z.string().default('C') }),
  execute: async ({ city, unit }) => {
    if (city === 'Atlantis') throw new RangeError('no such city');
    return { city, degrees: `${city.length} ${unit}` };
  },
});

describe('code mode', () => {
  const run_code = createCodeTool({ tools: { 'get-weather': weather }, timeout: 10_000 });
  const run = (code, options = {}) => run_code.execute({ code }, options);

  test('a model writes a program', async () => {
    assert.match(run_code.description, /\ndeclare const tools: \{\n  \/\*\* The weather in a city \*\/\n  get_weather\(params: \{\n    city: string;\n[^]*\}\): Promise<unknown>;\n\};\n$/);
    assert.deepEqual(Object.keys((await asSchema(run_code.inputSchema).jsonSchema).properties), ['code']);
    const asked = [];
    const text = `
      const found = await Promise.all(['Rome', 'Lisbon'].map((city) => tools.get_weather({ city })));
      console.log('found', found.length);
      return found.map(({ degrees }) => degrees);`;
    const { steps } = await generateText({ model: modelThatCalls('run_code', { code: text }, asked), tools: { run_code }, prompt: 'How warm is it?' });
    assert.equal(asked[0].tools[0].name, 'run_code');
    assert.deepEqual(steps[0].toolResults.map(({ output }) => output), [{ success: true, result: ['4 C', '6 C'], logs: ['found 2'] }]);
  });

  test('code comes in many shapes', async () => {
    for (const code of ['return 1', 'async () => 1', '() => { return 1; };;', '```js\nreturn 1\n```', 'function f() { return 1; }\nreturn f();', 'async function () { return 1 }', 'x => 1', '1', 'await 1; // one', 'Here:\n~~~JS\n() => 1; // one\n~~~', 'return 1\n```', 'function f() { return 1 }', '```ts\nconst a: number = 1; return a\n```']) {
      assert.deepEqual(await run(code), { success: true, result: 1, logs: [] }, code);
    }
  });

  test('inputs are validated', async () => {
    assert.match((await run('return tools.get_weather({ city: 1 })')).error.message, /city/);
    assert.match((await run('return tools.get_weather()')).error.message, /city/);
    const strict = jsonSchema({ type: 'object' }, { validate: (value) => (value.n > 0 ? { success: true, value: value.n } : { success: false, error: new RangeError('too small') }) });
    const double = tool({ inputSchema: strict, execute: async (n) => 2 * n });
    const lazy = { inputSchema: () => strict, async *execute(n) { yield 0; yield n + 1; } };
    const more = createCodeTool({ tools: { double, lazy } });
    assert.deepEqual((await more.execute({ code: 'return [await tools.double({ n: 2 }), await tools.lazy({ n: 2 })]' }, {})).result, [4, 3]);
    assert.equal((await more.execute({ code: 'return tools.double({ n: -1 })' }, {})).error.message, 'too small');
    let calls = 0;
    const standard = { '~standard': { version: 1, vendor: 'test', validate: () => null } };
    for (const inputSchema of [jsonSchema({ type: 'object' }, { validate: () => null }), standard]) {
      const tools = { broken: { inputSchema, execute: () => { calls += 1; } } };
      assert.equal((await createCodeTool({ tools }).execute({ code: 'return tools.broken({})' }, {})).success, false);
    }
    assert.equal(calls, 0);
  });

  test('failures are results', async () => {
    assert.equal((await run('return tools.get_weather({ city: "Atlantis" })')).error.message, 'no such city');
    const { success, error } = await run('const a = 1;\nnull.x');
    assert.deepEqual({ success, name: error.name, line: error.line }, { success: false, name: 'TypeError', line: 2 });
    assert.equal((await run('return "x".repeat(2 ** 21)')).error.code, 'ERR_ISOLATE_LIMIT');
    assert.ok((await run('throw new Error("x".repeat(1e6))')).error.message.length <= 10_000);
    assert.match((await run('const a = {}; a.a = a; return a;')).error.message, /^The result cannot be written as JSON: /);
    // JSON takes twelve times as many bytes as these have.
    for (const code of ['return new Uint8Array(1e6)', 'const some = new Uint8Array(1000); return Array(1000).fill({ some })']) {
      assert.match((await run(code)).error.message, /exceeds the maximum output size/, code);
    }
    assert.match((await run('return [[new Float64Array(1e5 + 1)]]')).error.message, /^The result cannot be written as JSON: it has more than 100000 elements of typed arrays$/);
    assert.equal(Object.keys((await run('return new Uint8Array(1e5)')).result).length, 1e5);
    assert.deepEqual((await run('return [1n, new Date(0), undefined]')).result, ['1', '1970-01-01T00:00:00.000Z', null]);
    // The time to write one grows with almost the square of its length.
    for (const code of ['return 1n << 900_000n', 'return { a: [-1n << 140_000n] }', 'return Array.from({ length: 20 }, () => 1n << 60_000n)']) {
      assert.equal((await run(code)).error.message, 'The result cannot be written as JSON: its BigInts have too many digits', code);
    }
    assert.equal((await run('return [1n << 120_000n, Array(1000).fill(2n ** 64n)]')).result[0].length, 36_124);
  });

  test('an abort ends it, and tools get the options of the call', async () => {
    const aborted = new AbortController();
    setTimeout(() => aborted.abort(new Error('enough')), 50);
    assert.equal((await run('for (;;);', { abortSignal: aborted.signal })).error.code, 'ERR_ISOLATE_ABORTED');
    const seen = [];
    const spy = createCodeTool({ tools: { spy: { execute: async (input, options) => { seen.push([input, options.toolCallId]); } } } });
    await spy.execute({ code: 'await tools.spy({ a: 1 })' }, { toolCallId: 'one' });
    assert.deepEqual(seen, [[{ a: 1 }, 'one']]);
  });
});

test('a schema whose JSON Schema cannot be had is reported, and its tool cannot be called', async () => {
  const reports = [];
  const listener = ({ error, origin }) => { reports.push(`${origin}: ${error.message}`); };
  subscribe('isolated-v8:unhandled-host-error', listener);
  const late = tool({ description: '', inputSchema: jsonSchema(async () => { throw new Error('no schema'); }), execute: async () => 'called' });
  const { description, execute } = createCodeTool({ tools: { late } });
  assert.match(description, /late\(params\?: unknown\)/);
  assert.equal((await execute({ code: 'return await tools.late({})' })).error.message, 'no schema');
  assert.deepEqual(reports, ['tool: no schema']);
  unsubscribe('isolated-v8:unhandled-host-error', listener);
});

test('a JSON Schema that never comes delays only its tool, until the execution ends', async () => {
  const late = tool({ description: '', inputSchema: jsonSchema(() => new Promise(() => {})), execute: async () => 'called' });
  const { execute } = createCodeTool({ tools: { late }, timeout: 500 });
  assert.equal((await execute({ code: 'return 5' })).result, 5);
  assert.equal((await execute({ code: 'return await tools.late({})' })).error.code, 'ERR_ISOLATE_DEADLINE');
  const signal = AbortSignal.timeout(100);
  assert.equal((await createCodeTool({ tools: { late } }).execute({ code: 'return await tools.late({})' }, { abortSignal: signal })).error.code, 'ERR_ISOLATE_ABORTED');
});

test('params are checked by a JSON Schema that has no function for that', async () => {
  const object = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  for (const inputSchema of [jsonSchema(object), jsonSchema(async () => object)]) {
    const asked = [];
    const double = tool({ description: '', inputSchema, execute: async ({ n }) => 2 * n });
    const { execute } = createCodeTool({ tools: { double }, approve: ({ params }) => { asked.push(params); return true; } });
    assert.equal((await execute({ code: 'return await tools.double({ n: 2 })' })).result, 4);
    assert.match((await execute({ code: 'return await tools.double({ n: "2" })' })).error.message, /params\.n must be a number$/);
    assert.deepEqual(asked, [{ n: 2 }]);
  }
  const refused = tool({ description: '', inputSchema: jsonSchema({ type: 'object', unevaluatedProperties: false }), execute: async () => 1 });
  assert.throws(() => createCodeTool({ tools: { refused } }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /"refused" is not supported: .*`unevaluatedProperties`/ });
});

test('`approve` gets the names of the tools', async () => {
  const asked = [];
  const execute = async () => 'seen';
  const approve = async ({ name, params, signal }) => { asked.push([name, params, signal.aborted]); return name !== 'delete-all'; };
  const approving = createCodeTool({ tools: { look: { execute }, 'delete-all': { execute } }, approve });
  const { result } = await approving.execute({ code: 'return [await tools.look({ n: 1 }), await tools.delete_all().catch(({ message }) => message)]' }, {});
  assert.deepEqual(asked, [['look', { n: 1 }, false], ['delete-all', {}, false]]);
  assert.deepEqual(result, ['seen', 'The call of the tool "delete-all" was not approved']);
});

test('`approve` gets validated params, and the tool gets the same', async () => {
  const [asked, got] = [[], []];
  const remove = tool({ inputSchema: z.object({ path: z.string().trim(), count: z.number().default(100) }), execute: async (params) => { got.push(params); return 'done'; } });
  const code = createCodeTool({ tools: { remove }, approve: ({ params }) => { asked.push(params); return params.path !== '/etc'; } });
  const run = (text) => code.execute({ code: text }, {});
  assert.equal((await run('return tools.remove({ path: " /etc" })')).error.message, 'The call of the tool "remove" was not approved');
  assert.equal((await run('return tools.remove({ path: "/tmp " })')).result, 'done');
  assert.match((await run('return tools.remove({ path: 1 })')).error.message, /^path: ./);
  assert.deepEqual(asked, [{ path: '/etc', count: 100 }, { path: '/tmp', count: 100 }]);
  assert.deepEqual(got, [{ path: '/tmp', count: 100 }]);
});

test('an error names few of many issues', async () => {
  const list = tool({ inputSchema: z.object({ list: z.array(z.string()) }), execute: async () => 'done' });
  const { error } = await createCodeTool({ tools: { list } }).execute({ code: 'return tools.list({ list: Array(1000).fill(1) })' }, {});
  assert.equal(error.message.split('\n').length, 10);
});

test('what is refused', async () => {
  const refused = { name: 'TypeError', code: 'ERR_INVALID_ARG' };
  const execute = async () => 1;
  assert.throws(() => createCodeTool({ tools: { client: { description: 'x' } } }), { ...refused, message: 'The tool "client" has no `execute`' });
  for (const needsApproval of [true, async () => false]) {
    assert.throws(() => createCodeTool({ tools: { pay: { execute, needsApproval } } }), { ...refused, message: 'The tool "pay" needs approval, and cannot be called by code' });
  }
  assert.throws(() => createCodeTool({ tools: { 'a-b': { execute }, a_b: { execute } } }), { ...refused, message: /"a-b" and "a_b"/ });
  assert.throws(() => createCodeTool({ memoryLimit: 1 }), { ...refused, message: /`memoryLimit`/ });
  assert.equal((await asSchema(createCodeTool().inputSchema).validate({ code: 1 })).success, false);
});

testSignals((spy, options) => {
  const { execute } = createCodeTool({ ...options, tools: { spy: { execute: (_, { abortSignal, toolCallId }) => spy(abortSignal, toolCallId) } } });
  return (code, abortSignal) => execute({ code }, { toolCallId: 'one', abortSignal });
});

test('the values of a tool are no longer asked for when its call is over', { timeout: 20_000 }, async () => {
  /** @type {() => void} */
  let finish;
  const finished = new Promise((resolve) => { finish = resolve; });
  async function* endless() {
    try {
      for (;;) yield await new Promise((resolve) => { setImmediate(resolve); });
    } finally {
      finish();
    }
  }
  const { error } = await createCodeTool({ tools: { endless: { execute: endless } }, timeout: 500 }).execute({ code: 'return tools.endless({})' }, {});
  assert.equal(error.code, 'ERR_ISOLATE_DEADLINE');
  await finished;
});

test('promises in what nothing receives are reported', async () => {
  const rejecting = (message) => ({ list: [Promise.reject(new Error(message))] });
  const schema = { [Symbol.for('vercel.ai.schema')]: true, jsonSchema: {}, validate: ({ valid }) => ({ ...rejecting(`validated ${valid}`), ...(valid ? { success: true } : { success: false, error: new Error('no') }) }) };
  const tools = {
    checked: { inputSchema: schema, execute: () => 1 },
    several: { async* execute() { yield rejecting('first'); yield rejecting('second'); yield 'last'; } },
    failing: { async* execute() { yield rejecting('before'); throw new Error('end'); } },
  };
  const reports = [];
  const listener = ({ error, origin }) => reports.push([origin, error.message]);
  subscribe('isolated-v8:unhandled-host-error', listener);
  try {
    const code = `const tried = (promise) => promise.catch(({ message }) => message);
      return [await tried(tools.checked({ valid: true })), await tried(tools.checked({ valid: false })), await tools.several(), await tried(tools.failing())]`;
    assert.deepEqual((await createCodeTool({ tools }).execute({ code }, {})).result, [1, 'no', 'last', 'end']);
    assert.deepEqual(reports, ['validated true', 'validated false', 'first', 'second', 'before'].map((message) => ['tool', message]));
  } finally {
    unsubscribe('isolated-v8:unhandled-host-error', listener);
  }
});
