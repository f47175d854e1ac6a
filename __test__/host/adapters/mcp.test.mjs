// The MCP server among the examples, used by a client of the official SDK.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { programArguments, root } from '../../harness.mjs';

test('a client runs programs in it', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [...programArguments(), join(root, 'examples/mcp-server.mjs')], cwd: root }));
  try {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name), ['execute']);
    const execute = async (code) => {
      const { content, isError } = await client.callTool({ name: 'execute', arguments: { code } });
      return { text: content[0].text, isError };
    };
    const program = `async () => {
      let total = 0;
      for (const item of await inventory.list()) total += await inventory.count(item);
      console.log('counted');
      return total;
    }`;
    assert.deepEqual(await execute(program), { text: '{"result":15,"logs":["counted"]}', isError: false });
    const failed = await execute('async () => {\n  await inventory.count("kiwi");\n}');
    assert.equal(failed.isError, true);
    assert.match(failed.text, /There is no kiwi[^]*> 2 \|/);
    assert.equal((await execute('async () => process.env')).text.split('\n')[0], 'ReferenceError: process is not defined');
  } finally {
    await client.close();
  }
});
