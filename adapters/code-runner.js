'use strict';
// Runs code of a model for the adapters of agent frameworks: its tools are functions of `tools`, and outcomes are plain JSON.

const { AgentSandbox, describeTools } = require('../index.js');
const { withNames } = require('./approval.js');
const { clashOf } = require('./identifiers.js');
const { invalid, MAX_OUTPUT, resultOf } = require('./outcome.js');
/** @type {typeof import('../surface/host/sandbox/tools/schema.js')} */
const { readSchema } =
  // @ts-ignore -- there after a build
  require('../host/index.js').files['agent.js']()('surface/host/sandbox/tools/schema.js');

/** What a model gets by default. */
const LIMITS = Object.freeze({ maxOutputSize: MAX_OUTPUT, maxLogEntries: 100, maxLogLength: 1_000 });

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} [description]
 * @property {unknown} [jsonSchema] of its params, for the description
 * @property {(params: any) => Promise<CheckedParams>} [check] the params of a call; rejects if they are not valid
 * @property {any} [paramsSchema] a JSON Schema, or a promise for one, by which the sandbox checks params if there is no `check`. A framework would do that
 *   in one piece on this thread, for as long as a guest's params and the patterns of the schema decide
 * @property {(params: any, context: any) => unknown} call with checked params, and what `contextOf` returns for the call
 */

/** The params of a call, as a framework's own tool and as `approve` get them. These differ if the tool validates its params itself. */
class CheckedParams {
  params;
  approved;

  /**
   * @param {unknown} params
   * @param {unknown} approved
   */
  constructor(params, approved) {
    this.params = params;
    this.approved = approved;
  }
}

/** @param {string} name */
const identifier = (name) => name.replaceAll(/[^\w$]/g, '_').replace(/^(?=\d|$)/, '_');

/**
 * The names of tools in code.
 * @param {Tool[]} tools
 * @returns {Map<string, Tool>}
 */
function named(tools) {
  const names = tools.map(({ name }) => identifier(name));
  const clash = clashOf(tools.map(({ name }) => name), names);
  if (clash !== undefined) throw invalid(clash);
  return new Map(tools.map((tool, index) => [names[index], tool]));
}

/**
 * A Standard Schema, by which the sandbox checks the params of a call before it asks for approval.
 * @param {Tool['check']} check
 */
const schemaOf = (check) => ({
  '~standard': { version: /** @type {const} */ (1), vendor: 'isolated-v8', validate: async (/** @type {unknown} */ params) => ({ value: await check(params) }) },
});

/**
 * @param {Tool[]} tools
 * @param {Partial<import('../index.js').AgentSandboxConfig>} options
 */
function createRunner(tools, options) {
  const byName = named(tools);
  for (const { name, paramsSchema } of tools) {
    if (typeof paramsSchema?.then !== 'function') readSchema({ inputSchema: paramsSchema }, name);
  }
  const settings = withNames(options, (name) => String(byName.get(name.slice('tools:'.length))?.name),
    (params) => (params instanceof CheckedParams ? params.approved : params));
  const sandbox = new AgentSandbox({ ...LIMITS, ...settings, form: 'any' });
  const list = [...byName].map(([name, { description = '', check, paramsSchema }]) => ({
    name: `tools:${name}`, description, inputSchema: check === undefined ? paramsSchema : schemaOf(check),
  }));
  const declarations = describeTools([...byName.values()].map(({ jsonSchema }, index) => ({ ...list[index], inputSchema: /** @type {any} */ (jsonSchema) })));
  const language = options.typescript ? 'TypeScript' : 'JavaScript (without types)';
  return {
    description: `Runs ${language} in a sandbox, as the body of an async function: return the result. It has no network, no files and no require.`
      + (declarations === '' ? '' : ` Instead of one call for each step, write one program. It can call these functions:\n\n${declarations}`),
    /**
     * @param {string} code
     * @param {object} options
     * @param {import('../index.js').AbortSignalLike} [options.signal]
     * @param {(call: { readonly signal: AbortSignal }) => unknown} options.contextOf a call of a tool. Its signal also aborts with `options.signal`
     */
    async run(code, { signal, contextOf }) {
      const outcome = await sandbox.execute(code, list, async (name, params, call) =>
        byName.get(name.slice('tools:'.length))?.call(params instanceof CheckedParams ? params.params : params, contextOf(call)), { signal });
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

module.exports = { CheckedParams, createRunner, inputSchema };
