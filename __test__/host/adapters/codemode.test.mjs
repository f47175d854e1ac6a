// `isolated-v8/codemode` with `@cloudflare/codemode` itself: its MCP server and its tool for TanStack AI.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { codeMcpServer } from '@cloudflare/codemode/mcp';
import { createCodeTool, tanstackTools } from '@cloudflare/codemode/tanstack-ai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { toolDefinition } from '@tanstack/ai';
import { z } from 'zod';
import { createExecutor } from 'isolated-v8/codemode';

const executor = createExecutor({ timeout: 10_000 });

describe('an MCP server behind one tool', () => {
  async function withClient(use) {
    const upstream = new McpServer({ name: 'shop', version: '1.0.0' });
    upstream.registerTool('get-price', { inputSchema: { item: z.string() } }, async ({ item }) => {
      if (item === 'moon') throw new Error('not for sale');
      return { content: [{ type: 'text', text: JSON.stringify({ item, price: item.length }) }] };
    });
    const server = await codeMcpServer({ server: upstream, executor });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await server.connect(far);
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(near);
    try {
      await use((code) => client.callTool({ name: 'code', arguments: { code } }), client);
    } finally {
      await client.close();
    }
  }

  test('its code calls the tools', () => withClient(async (call, client) => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name), ['code']);
    const code = 'async () => { const all = await Promise.all(["apple", "fig"].map((item) => codemode.get_price({ item }))); return all.map(({ price }) => price); }';
    const { content, isError } = await call(code);
    assert.equal(isError, undefined);
    assert.deepEqual(JSON.parse(content[0].text), [5, 3]);
  }));

  test('errors of tools and of the code are returned', () => withClient(async (call) => {
    const failed = await call('async () => codemode.get_price({ item: "moon" })');
    assert.deepEqual(failed, { content: [{ type: 'text', text: 'Error: not for sale' }], isError: true });
    const caught = await call('async () => { try { await codemode.get_price({ item: "moon" }); } catch (error) { return error.message; } }');
    assert.equal(caught.content[0].text, 'not for sale');
    assert.match((await call('async () => { syntax error')).content[0].text, /^Error: Unexpected identifier 'error'/);
    assert.equal((await call('async () => typeof process + typeof require + typeof fetch')).content[0].text, 'undefinedundefinedundefined');
  }));
});

test('a tool of TanStack AI', async () => {
  const sum = toolDefinition({ name: 'sum', description: 'Adds', inputSchema: z.object({ a: z.number(), b: z.number() }) }).server(async ({ a, b }) => a + b);
  const tool = createCodeTool({ tools: [tanstackTools([sum], 'math')], executor });
  assert.deepEqual(await tool.execute({ code: 'async () => { console.log("now"); return math.sum({ a: 2, b: 3 }); }' }), { result: 5, logs: ['now'] });
  await assert.rejects(tool.execute({ code: 'async () => { throw new Error("no"); }' }), { message: /^Code execution failed: no/ });
});

describe('the executor alone', () => {
  test('names are those shown to the model', async () => {
    const fns = { 'a-b.c': async () => 1, '2nd': async () => 2, delete: async () => 3, 'ü!': async () => 4 };
    const { result } = await executor.execute('async () => [await x.a_b_c(), await x._2nd(), await x.delete_(), await x._()]', [{ name: 'x', fns }]);
    assert.deepEqual(result, [1, 2, 3, 4]);
  });

  test('a tool can have any name of a property', async () => {
    const own = { ['__proto__']: async () => 1, constructor: async () => 2 };
    const { result } = await executor.execute('async () => [await x.__proto__(), await x.constructor()]', [{ name: 'x', fns: own }, { name: 'y', fns: own }]);
    assert.deepEqual(result, [1, 2]);
  });

  test('functions without a namespace are in `codemode`', async () => {
    assert.deepEqual(await executor.execute('async () => codemode.f(1, "b")', { f: async (...args) => args }), { result: [1, 'b'], logs: [] });
  });

  test('functions return promises, and run concurrently', async () => {
    let peak = 0, now = 0;
    const slow = async (x) => { peak = Math.max(peak, now += 1); await new Promise((resolve) => { setTimeout(resolve, 50); }); now -= 1; return x; };
    const fail = async () => { throw new RangeError('no'); };
    const code = `async () => {
      const caught = await codemode.fail().catch((error) => error.message);
      const settled = await Promise.allSettled([codemode.slow(1), codemode.fail(), codemode.slow(2)]);
      return [caught, settled.map(({ status }) => status), await codemode.slow(3).then((x) => x + 1)];
    }`;
    assert.deepEqual((await executor.execute(code, { slow, fail })).result, ['no', ['fulfilled', 'rejected', 'fulfilled'], 4]);
    assert.equal(peak, 2);
  });

  test('code in several forms', async () => {
    const fns = { one: async () => 1 };
    for (const code of ['async () => codemode.one();', '() => codemode.one()', '```js\nasync () => codemode.one()\n```', 'return codemode.one()', 'codemode.one()', 'function () { return codemode.one() }', 'async () => codemode.one() // the end']) {
      assert.deepEqual(await executor.execute(code, fns), { result: 1, logs: [] }, code);
    }
  });

  test('a provider can have any name that is an identifier', async () => {
    const request = async () => 1;
    const { result } = await executor.execute('async () => { let sum = 0; for (let i = 0; i < 60; i += 1) sum += await api.request(); return sum; }', [{ name: 'api', fns: { request } }]);
    assert.equal(result, 60);
    assert.equal((await executor.execute('async () => 1', [{ name: 'a b', fns: {} }])).error, 'Provider name "a b" is not a valid JavaScript identifier');
  });

  test('a prelude adds functions that exist inside only', async () => {
    const provider = { name: 'codemode', fns: { twice: async (x) => x * 2 }, prelude: 'codemode.step = async (name, run) => ({ name, value: await run() })' };
    const { result } = await executor.execute('async () => codemode.step("one", () => codemode.twice(21))', [provider, { name: 'other', fns: {} }]);
    assert.deepEqual(result, { name: 'one', value: 42 });
  });

  test('failures are reported, not thrown', async () => {
    const quick = createExecutor({ timeout: 200 });
    assert.deepEqual(await quick.execute('async () => { for (;;); }', {}), { result: undefined, error: 'Execution timeout after 200ms', logs: [] });
    assert.deepEqual(await quick.execute('async () => 1', [], { connectors: [{ name: 'github' }] }), {
      result: undefined, error: 'Connectors are bound to Workers: pass their tools as providers',
    });
    assert.deepEqual(await quick.execute(undefined, {}), { result: undefined, error: '`code` must be a string' });
    assert.deepEqual(await createExecutor({ timeout: null }).execute('async () => 5', {}), { result: 5, logs: [] });
    assert.throws(() => createExecutor({ timeout: 'soon' }), { name: 'TypeError', code: 'ERR_INVALID_ARG', message: /`timeout`/ });
  });

  const fns = { f: async () => 1 };
  for (const [what, error, ...args] of [
    ['a reserved word as a name', 'Provider name "class" is not a valid JavaScript identifier', [{ name: 'class', fns }]],
    ['no name', 'Provider name "undefined" is not a valid JavaScript identifier', [{ fns }]],
    ['two of one name', 'Provider name "a" is taken', [{ name: 'a', fns }, { name: 'a', fns }]],
    ['a name of ours', 'Provider name "$host" is taken', [{ name: '$host', fns }]],
    ['no tools', 'The tools of provider "a" must be an object of functions', [{ name: 'a' }]],
    ['tools of one name in code', 'The tools "a.get-it" and "a.get.it" have the same name in code: get_it', [{ name: 'a', fns: { 'get-it': fns.f, 'get.it': fns.f } }]],
    ['null for a provider', 'Provider name "undefined" is not a valid JavaScript identifier', [null]],
    ['null for all', 'The tools of provider "codemode" must be an object of functions', null],
  ]) {
    test(`wrong providers are reported, not thrown: ${what}`, async () => {
      assert.deepEqual(await executor.execute('async () => 1', ...args), { result: undefined, error });
    });
  }

  test('`null` for options counts as none', async () => {
    assert.equal((await executor.execute('async () => codemode.f()', fns, null)).result, 1);
  });

  test('executions share nothing', async () => {
    await executor.execute('async () => { Array.prototype.mark = 1; codemode.mark = 1; }', { f: async () => 1 });
    assert.deepEqual((await executor.execute('async () => [[].mark, codemode.mark]', { f: async () => 1 })).result, [undefined, undefined]);
  });
});

test('`approve` gets the names of providers and tools, and the arguments', async () => {
  const asked = [];
  const approving = createExecutor({ approve: async ({ name, params, signal }) => { asked.push([name, params, signal.aborted]); return name !== 'shop.buy-it'; } });
  const called = [];
  const fns = { look: async (...args) => { called.push(args); return 'seen'; }, 'buy-it': async () => { called.push('bought'); } };
  const code = 'async () => [await shop.look(1, "a"), await shop.buy_it(2).catch(({ message }) => message)]';
  const { result, error } = await approving.execute(code, [{ name: 'shop', fns }]);
  assert.equal(error, undefined);
  assert.deepEqual(result, ['seen', 'The call of the tool "shop.buy-it" was not approved']);
  assert.deepEqual([asked, called], [[['shop.look', [1, 'a'], false], ['shop.buy-it', [2], false]], [[1, 'a']]]);
});

test('code that is slow to parse does not block the event loop', async () => {
  const code = `async () => [${Array.from({ length: 15_000 }, (_, index) => `/[\\p{RGI_Emoji}\\q{${index}}]/iv`).join()}]`;
  const start = performance.now();
  const execution = createExecutor({ timeout: 200 }).execute(code, {});
  // Parsing takes seconds.
  assert.ok(performance.now() - start < 1_000);
  assert.deepEqual(await execution, { result: undefined, error: 'Execution timeout after 200ms' });
});

test('parsing and running have one time limit together', async (t) => {
  const controller = new AbortController();
  const limits = [];
  t.mock.method(AbortSignal, 'timeout', (limit) => {
    limits.push(limit);
    return controller.signal;
  });
  // As if parsing had taken nearly all of it.
  const fns = { begin: async () => { controller.abort(new DOMException('over', 'TimeoutError')); } };
  const execution = createExecutor({ timeout: 40_000 }).execute('async () => { await codemode.begin(); for (;;); }', fns);
  const outcome = await Promise.race([execution, new Promise((resolve) => { setTimeout(resolve, 20_000, 'it still runs').unref(); })]);
  assert.deepEqual([outcome, limits], [{ result: undefined, error: 'Execution timeout after 40000ms', logs: [] }, [40_000]]);
});
