'use strict';
// A tool of LangChain that runs code of a model in an isolate of its own. The code can call other tools on the host.

const { CheckedParams, createRunner, inputSchema } = require('./code-runner.js');
const { invalid } = require('./outcome.js');
const { standardJsonSchema, standardValidated } = require('./schemas.js');

const NAME = 'run_code';
/** `invoke` takes an object with this `type` for a call of the tool, and the tool would get other params, from the object's `args`. */
const CALL = 'tool_call';

/**
 * Whether it is a JSON Schema. Others are Standard Schemas, or those of a zod that is older than these.
 * @param {any} schema
 */
const isJsonSchema = (schema) => typeof schema === 'object' && schema !== null && schema['~standard'] === undefined && typeof schema.parse !== 'function';

/**
 * The same tool, which takes any input: the sandbox has checked it by the tool's JSON Schema. LangChain's own tools, which have `_call`, would
 * check it again.
 * @param {import('./langchain.js').InvocableTool} tool
 * @returns {import('./langchain.js').InvocableTool}
 */
const unchecked = (tool) => {
  const { _call: call } = /** @type {any} */ (tool);
  if (typeof call !== 'function') return tool;
  // The tool's own code runs on the tool itself, which may have private fields.
  return Object.create(tool, { schema: { value: {} }, _call: { value: (/** @type {any[]} */ ...args) => call.apply(tool, args) } });
};

/**
 * The params of a call as the tool gets them: `invoke` validates them, and its schema may change them.
 * @param {any} schema
 * @param {any} params
 */
const validated = async (schema, params) => (typeof params === 'object' && params !== null ? standardValidated(schema, params) : params);

/** @type {typeof import('./langchain.js').createCodeTool} */
function createCodeTool(tool, { tools = [], name = NAME, ...options } = {}) {
  if (typeof tool !== 'function') throw invalid('`tool` must be the function `tool` of @langchain/core/tools');
  const isAsking = typeof options.approve === 'function';
  const runner = createRunner(tools.map((each) => {
    if (typeof each?.invoke !== 'function') throw invalid(`The tool "${each?.name}" has no \`invoke\``);
    const { name: id, description, schema } = each;
    /** @param {any} params */
    const refuseCall = (params) => {
      if (params?.type === CALL) throw new TypeError(`The params of the tool "${id}" must not have the \`type\` "${CALL}"`);
    };
    if (isJsonSchema(schema)) {
      const own = unchecked(each);
      return {
        name: id,
        description,
        jsonSchema: schema,
        paramsSchema: schema,
        call(params, config) {
          refuseCall(params);
          return own.invoke(params, config);
        },
      };
    }
    return {
      name: id,
      description,
      jsonSchema: standardJsonSchema(schema),
      async check(params) {
        refuseCall(params);
        return new CheckedParams(params, isAsking ? await validated(schema, params) : undefined);
      },
      call: (params, config) => each.invoke(params, config),
    };
  }), options);
  return tool(async ({ code }, config) => {
    const { toolCall: _, ...inner } = config ?? {};
    return JSON.stringify(await runner.run(code, {
      signal: config?.signal, contextOf: (call) => ({ ...inner, get signal() { return call.signal; } }),
    }));
  }, { name, description: runner.description, schema: inputSchema() });
}

module.exports = { createCodeTool };
