'use strict';
// A tool of LangChain that runs code of a model in an isolate of its own. The code can call other tools on the host.

const { createRunner, inputSchema } = require('./code-runner.js');
const { invalid } = require('./outcome.js');
const { standardJsonSchema, standardValidated } = require('./schemas.js');

const NAME = 'run_code';
/** `invoke` takes an object with this `type` for a call of the tool, and the tool would get other params, from the object's `args`. */
const CALL = 'tool_call';

/**
 * As JSON Schema, if it is one or can be converted.
 * @param {any} schema
 */
const jsonSchemaOf = (schema) => (schema?.['~standard'] === undefined && schema?.type === 'object' ? schema : standardJsonSchema(schema));

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
    return {
      name: each.name,
      description: each.description,
      jsonSchema: jsonSchemaOf(each.schema),
      async check(params) {
        if (params?.type === CALL) throw new TypeError(`The params of the tool "${each.name}" must not have the \`type\` "${CALL}"`);
        return { params, approved: isAsking ? await validated(each.schema, params) : undefined };
      },
      call: (params, config) => each.invoke(params, config),
    };
  }), options);
  return tool(async ({ code }, config) => {
    const { toolCall: _, ...inner } = config ?? {};
    return JSON.stringify(await runner.run(code, { signal: config?.signal, context: inner }));
  }, { name, description: runner.description, schema: inputSchema() });
}

module.exports = { createCodeTool };
