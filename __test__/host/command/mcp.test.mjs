// `isolated-v8 mcp`, used by the client of the official SDK.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { host, programArguments, root, runFile } from '../../harness.mjs';

const command = join(root, 'command/index.js');
const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-mcp-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const TOOLS = join(folder, 'tools.mjs');
writeFileSync(TOOLS, `
  console.log('loaded');
  let now = 0;
  let most = 0;
  const stock = new Map([['apple', 3], ['plum', 12]]);
  export const description = 'inventory.count(item: string): number';
  export default {
    inventory: {
      count: async (item) => {
        console.log('counting', item);
        if (!stock.has(item)) throw new RangeError('There is no ' + item);
        return stock.get(item);
      },
    },
    wait: () => new Promise(() => {}),
    together: async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => { setTimeout(resolve, 20); });
      now -= 1;
      return most;
    },
  };
`);

async function withClient(args, use) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [...programArguments(), command, 'mcp', ...args], cwd: root, stderr: 'ignore' }));
  try {
    await use(async (code, options) => {
      const { content, isError } = await client.callTool({ name: 'run_code', arguments: { code } }, undefined, options);
      return { text: content[0].text, isError };
    }, client);
  } finally {
    await client.close();
  }
}

test('a client runs code', () => withClient(['--web', '--typescript'], async (run, client) => {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name), ['run_code']);
  assert.doesNotMatch(tools[0].description, /functions/);
  assert.deepEqual(await run('console.log("a"); return [1n, new URL("http://a/b").host] as const;'), { text: '{"result":["1","a"],"logs":["a"]}', isError: false });
  assert.deepEqual(await run('```js\nasync () => 6 * 7\n```'), { text: '{"result":42,"logs":[]}', isError: false });
  assert.match((await run('null.x')).text, /^TypeError: .*\n[^]*> 1 \| null\.x/);
  await assert.rejects(client.callTool({ name: 'run_code', arguments: { code: 1 } }), { code: -32602 });
  await assert.rejects(client.callTool({ name: 'other', arguments: {} }), { code: -32602 });
}));

test('hostile code fails, and the server continues', () => withClient(['--timeout', '300', '--memory', '16'], async (run) => {
  for (const code of ['for (;;);', 'const all = []; for (;;) all.push(new Array(1000).fill(1.5));', 'return "x".repeat(1e7)', 'process.exit(1)', 'const a = {}; a.a = a; return a;']) {
    assert.equal((await run(code)).isError, true, code);
  }
  const { text } = await run('throw new Error("\\u001b[2J".repeat(3))');
  assert.match(text, /^Error: (?:\\x1b\[2J){3}\n/);
  assert.equal((await run('return 1')).text, '{"result":1,"logs":[]}');
}));

test('functions of an operator', () => withClient(['--tools', TOOLS], async (run, client) => {
  const { tools } = await client.listTools();
  assert.match(tools[0].description, /\ninventory\.count\(item: string\): number$/);
  assert.equal((await run('return inventory.count("apple") + await inventory.count("plum")')).text, '{"result":15,"logs":[]}');
  assert.match((await run('return inventory.count("kiwi")')).text, /^RangeError: There is no kiwi/);
  const aborted = new AbortController();
  const waiting = run('wait()', { signal: aborted.signal });
  setTimeout(() => aborted.abort('enough'), 100);
  await assert.rejects(waiting);
  assert.equal((await run('return 1')).isError, false);
}));

test('eight calls run at a time, and the others wait', () => withClient(['--tools', TOOLS], async (run) => {
  const stopped = new AbortController();
  const endless = Array.from({ length: 20 }, () => run('wait()', { signal: stopped.signal }).then(() => 'answered', () => 'cancelled'));
  const others = Array.from({ length: 30 }, () => run('return together()'));
  setTimeout(() => stopped.abort('enough'), 200);
  assert.deepEqual([...new Set(await Promise.all(endless))], ['cancelled']);
  const most = Math.max(...(await Promise.all(others)).map(({ text }) => JSON.parse(text).result));
  assert.ok(most > 1 && most <= 8, `${most}`);
}));

describe('what it refuses', () => {
  const refused = async (args, message) => {
    const { code, stdout, stderr } = await runFile(command, { args: ['mcp', ...args], cwd: folder });
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, stderr);
    assert.match(stderr, message);
  };

  test('tools that cannot be loaded', async () => {
    await refused(['--tools', 'missing.mjs'], /^isolated-v8 mcp: cannot load missing\.mjs: /);
    writeFileSync(join(folder, 'empty.mjs'), 'export const a = 1;');
    await refused(['--tools', 'empty.mjs'], /^isolated-v8 mcp: the default export of empty\.mjs must be an object of functions\n/);
  });

  test('to run without the SDK', async () => {
    const place = join(folder, 'package');
    mkdirSync(place);
    for (const name of ['command', 'host', 'index.js', 'loader', 'package.json']) cpSync(join(root, name), join(place, name), { recursive: true });
    // Bun installs what is missing by itself.
    const hostArgs = host === 'bun' ? ['--no-install'] : programArguments();
    const { code, stdout, stderr } = await runFile(join(place, 'command/index.js'), { args: ['mcp'], cwd: place, hostArgs });
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, stderr);
    assert.match(stderr, /^isolated-v8 mcp: the package @modelcontextprotocol\/sdk is not installed: npm install @modelcontextprotocol\/sdk /);
  });
});
