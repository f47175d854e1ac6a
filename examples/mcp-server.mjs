// An MCP server with one tool, `execute`: instead of one call for each step, a model writes a program that makes them all.
// Start it as any server that speaks on its standard input and output: `node examples/mcp-server.mjs`.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { createSandbox } from 'isolated-v8';

const STOCK = new Map([['apple', 3], ['pear', 0], ['plum', 12]]);

/** Functions that programs can call, as `inventory.…`. They run here, not in the sandbox. */
const inventory = {
  list: async () => [...STOCK.keys()],
  count: async (item) => {
    if (!STOCK.has(item)) throw new RangeError(`There is no ${item}`);
    return STOCK.get(item);
  },
};

const DESCRIPTION = `Runs JavaScript, an async arrow function, and gives what it returns. It can call:
inventory.list(): string[], the names of all items;
inventory.count(item: string): number, how many there are.`;

const server = new McpServer({ name: 'isolated-v8', version: '0.1.0' });
const sandbox = createSandbox({ inventory }, { timeout: 5_000, memoryLimit: 64, maxApiCalls: 100 });

server.registerTool('execute', { description: DESCRIPTION, inputSchema: { code: z.string() } }, async ({ code }, { signal }) => {
  const { result, failure, logs } = await sandbox.execute(code, { signal });
  const text = failure === undefined ? JSON.stringify({ result, logs }) : `${failure.stack}\n${failure.frame ?? ''}`;
  return { content: [{ type: 'text', text }], isError: failure !== undefined };
});

await server.connect(new StdioServerTransport());
