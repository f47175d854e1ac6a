// @ts-check
'use strict';
// `isolated-v8 mcp`: a Model Context Protocol server on standard input and output, whose tool runs code in a sandbox.

const { Console } = require('node:console');
const { resolve } = require('node:path');
const { pathToFileURL } = require('node:url');
const { createSandbox } = require('../index.js');
const { OPTIONS, parse, readLimits, UsageError } = require('./arguments.js');
const { EXIT } = require('./exit.js');
const { described, json, visible } = require('./text.js');
const { version } = require('../package.json');

const usage = `Usage: isolated-v8 mcp [options]

Serves a tool, run_code, to a client of the Model Context Protocol on standard input and output. Each call has an isolate of its own.
It needs the package @modelcontextprotocol/sdk: npx -p isolated-v8 -p @modelcontextprotocol/sdk isolated-v8 mcp

  --tools <file>   an ES module of yours whose default export is an object of functions, or of such objects. Code can call them.
                   Its export \`description\` is shown to the model
  --timeout <ms>   time limit of each call in milliseconds, default 30000
  --memory <MB>    memory limit in megabytes, at least 8, default 128
  --typescript     allows types
  --web            provides web APIs: URL, TextEncoder, crypto, ...
`;

const SDK = '@modelcontextprotocol/sdk';
const NAME = 'run_code';
const SCHEMA = Object.freeze({
  type: 'object',
  properties: { code: { type: 'string', description: 'The code to run' } },
  required: ['code'],
  additionalProperties: false,
});

async function loadSdk() {
  try {
    const [{ Server }, { StdioServerTransport }, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Server, StdioServerTransport, ...types };
  } catch (/** @type {any} */ error) {
    if (!String(error?.message).includes(SDK)) throw error;
    throw new UsageError(`the package ${SDK} is not installed: npm install ${SDK} (version 1), beside isolated-v8`);
  }
}

/**
 * An operator's functions, and their descriptions for the model.
 * @param {string | undefined} file
 * @returns {Promise<{ globals: Record<string, unknown>, description: string }>}
 */
async function loadTools(file) {
  if (file === undefined) return { globals: {}, description: '' };
  /** @type {any} */
  let tools;
  try {
    tools = await import(pathToFileURL(resolve(file)).href);
  } catch (/** @type {any} */ error) {
    throw new UsageError(`cannot load ${file}: ${error?.message}`);
  }
  if (typeof tools.default !== 'object' || tools.default === null) {
    throw new UsageError(`the default export of ${file} must be an object of functions`);
  }
  const names = namesOf(tools.default);
  const description = typeof tools.description === 'string' ? tools.description : names.map((name) => `${name}()`).join('\n');
  return { globals: tools.default, description: names.length === 0 ? '' : `\nThe code can call these functions:\n${description}` };
}

/**
 * Names of the functions in an object and in its objects.
 * @param {Record<string, unknown>} object
 * @returns {string[]}
 */
const namesOf = (object, prefix = '') => Object.entries(object).flatMap(([name, value]) => {
  if (typeof value === 'function') return [`${prefix}${name}`];
  return typeof value === 'object' && value !== null ? namesOf(/** @type {any} */ (value), `${prefix}${name}.`) : [];
});

/** Calls that run at a time. Each may take the memory that an isolate may have. */
const MAX_RUNNING = 8;
let running = 0;
/** Calls that wait, in the order of their arrival. @type {Set<() => void>} */
const waiting = new Set();

/**
 * @template T
 * @param {() => Promise<T>} run
 */
async function inTurn(run) {
  if (running < MAX_RUNNING) running += 1;
  else await new Promise((begin) => { waiting.add(() => begin(undefined)); });
  try {
    return await run();
  } finally {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    waiting.delete(next);
    next?.();
  }
}

/** @param {string} more about functions */
const descriptionOf = (more) => `Runs JavaScript in an isolate of its own and returns what the code returns, as JSON, with the output of console.
The code is the body of an async function: return the result. It has the built-ins of ECMAScript; there is no network, no file system and no require.${more}`;

/**
 * @param {import('../index.js').SandboxResult} outcome
 */
function contentOf({ result, failure, logs, lostLogs }) {
  const more = lostLogs === undefined ? { logs } : { logs, lostLogs };
  let text = failure && `${visible(described(failure))}${logs.length > 0 ? `\n${json(more)}` : ''}`;
  let isError = failure !== undefined;
  try {
    text ??= json({ result, ...more });
  } catch (/** @type {any} */ error) {
    text = `The result cannot be written as JSON: ${error.message.split('\n')[0]}`;
    isError = true;
  }
  return { content: [{ type: /** @type {const} */ ('text'), text }], isError };
}

/** @type {import('./main.js').Command['main']} */
async function main(args, { stdin, stdout, stderr }) {
  const { values } = parse(args, { ...OPTIONS, tools: { type: 'string' } });
  const limits = readLimits(values);
  // Standard output belongs to the protocol.
  globalThis.console = new Console(stderr, stderr);
  const { Server, StdioServerTransport, CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } = await loadSdk();
  const { globals, description } = await loadTools(values.tools);
  const sandbox = createSandbox(globals, { ...limits, timers: true, web: values.web === true, typescript: values.typescript === true });
  const server = new Server({ name: 'isolated-v8', version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: NAME, description: descriptionOf(description), inputSchema: SCHEMA }] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const code = params.arguments?.code;
    if (params.name !== NAME) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${params.name}`);
    if (typeof code !== 'string') throw new McpError(ErrorCode.InvalidParams, '`code` must be a string');
    return inTurn(async () => contentOf(await sandbox.execute(code, { signal })));
  });
  await server.connect(new StdioServerTransport(stdin, stdout));
  // The process ends with its standard input, after the calls that run.
  return EXIT.OK;
}

module.exports = { main, usage };
