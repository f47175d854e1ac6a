'use strict';
// Runs code of a model for the adapters of agent frameworks: its tools are functions of `tools`, and outcomes are plain JSON.

const { AgentSandbox, describeTools } = require('../index.js');
const { jsonReplacer } = require('../command/text.js');

/** What a model gets by default. */
const LIMITS = Object.freeze({ maxOutputSize: 2 ** 20, maxLogEntries: 100, maxLogLength: 1_000 });
const MAX_MESSAGE = 10_000;

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} [description]
 * @property {unknown} [jsonSchema] of its params
 * @property {(params: unknown, context: any) => unknown} call validates its params
 */

/** @param {string} message */
const invalid = (message) => Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG' });

/** @param {string} name */
const identifier = (name) => name.replaceAll(/[^\w$]/g, '_').replace(/^(?=\d|$)/, '_');

/**
 * A value without what JSON has not. BigInts become strings.
 * @param {unknown} value
 */
function plainOf(value) {
  const text = JSON.stringify(value, jsonReplacer());
  return text === undefined ? null : JSON.parse(text);
}

/**
 * @param {import('../index.js').AgentResult} outcome
 * @returns {import('./code-runner.js').CodeResult}
 */
function resultOf({ result, failure, logs, lostLogs }) {
  const more = lostLogs === undefined ? { logs } : { logs, lostLogs };
  if (failure !== undefined) {
    const { name, message, code, line, frame } = failure;
    const place = line === undefined ? {} : { line, frame };
    return { success: false, error: { name: name.slice(0, MAX_MESSAGE), message: message.slice(0, MAX_MESSAGE), ...(code === undefined ? {} : { code }), ...place }, ...more };
  }
  try {
    return { success: true, result: plainOf(result), ...more };
  } catch (/** @type {any} */ error) {
    return { success: false, error: { name: 'TypeError', message: `The result cannot be written as JSON: ${error.message.split('\n')[0]}` }, ...more };
  }
}

/**
 * The names of tools in code.
 * @param {Tool[]} tools
 * @returns {Map<string, Tool>}
 */
function named(tools) {
  const all = new Map();
  for (const tool of tools) {
    const name = identifier(tool.name);
    if (all.has(name)) throw invalid(`The tools "${all.get(name).name}" and "${tool.name}" have the same name in code: ${name}`);
    all.set(name, tool);
  }
  return all;
}

/**
 * A sandbox's options, with an `approve` that gets the names of tools outside of the sandbox.
 * @param {Partial<import('../index.js').AgentSandboxConfig>} options
 * @param {(name: string) => string} nameOf a tool, by its name in the sandbox
 * @returns {Partial<import('../index.js').AgentSandboxConfig>}
 */
function withNames(options, nameOf) {
  const { approve } = options;
  return typeof approve !== 'function' ? options : {
    ...options,
    async approve(call) {
      const name = nameOf(call.name);
      if (await approve({ name, params: call.params, get signal() { return call.signal; } }) === true) return true;
      throw new Error(`The call of the tool "${name}" was not approved`);
    },
  };
}

/**
 * @param {Tool[]} tools
 * @param {Partial<import('../index.js').AgentSandboxConfig>} options
 */
function createRunner(tools, options) {
  const byName = named(tools);
  const settings = withNames(options, (name) => String(byName.get(name.slice('tools:'.length))?.name));
  const sandbox = new AgentSandbox({ ...LIMITS, ...settings, form: 'any' });
  const list = [...byName].map(([name, { description = '' }]) => ({ name: `tools:${name}`, description }));
  const declarations = describeTools([...byName.values()].map(({ jsonSchema }, index) => ({ ...list[index], inputSchema: /** @type {any} */ (jsonSchema) })));
  const language = options.typescript ? 'TypeScript' : 'JavaScript (without types)';
  return {
    description: `Runs ${language} in a sandbox, as the body of an async function: return the result. It has no network, no files and no require.`
      + (declarations === '' ? '' : ` Instead of one call for each step, write one program. It can call these functions:\n\n${declarations}`),
    /**
     * @param {string} code
     * @param {{ signal?: import('../index.js').AbortSignalLike, context?: unknown }} call
     */
    async run(code, { signal, context }) {
      const outcome = await sandbox.execute(code, list, async (name, params) => byName.get(name.slice('tools:'.length))?.call(params, context), { signal });
      return resultOf(outcome);
    },
  };
}

/** The input of a tool that runs code, as JSON Schema. A new one each time: validators of frameworks write into schemas. */
const inputSchema = () => ({
  type: /** @type {const} */ ('object'),
  properties: { code: { type: /** @type {const} */ ('string'), description: 'The code to run' } },
  required: ['code'],
  additionalProperties: false,
});

module.exports = { createRunner, inputSchema, invalid, plainOf, withNames };
