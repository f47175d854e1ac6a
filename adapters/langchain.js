'use strict';
// A tool of LangChain that runs code of a model in an isolate of its own. The code can call other tools on the host.

const { createRunner, inputSchema } = require('./code-runner.js');
const { invalid } = require('./outcome.js');
const { standardJsonSchema } = require('./schemas.js');

const NAME = 'run_code';

/**
 * As JSON Schema, if it is one or can be converted.
 * @param {any} schema
 */
const jsonSchemaOf = (schema) => (schema?.['~standard'] === undefined && schema?.type === 'object' ? schema : standardJsonSchema(schema));

/** @type {typeof import('./langchain.js').createCodeTool} */
function createCodeTool(tool, { tools = [], name = NAME, ...options } = {}) {
  if (typeof tool !== 'function') throw invalid('`tool` must be the function `tool` of @langchain/core/tools');
  const runner = createRunner(tools.map((each) => {
    if (typeof each?.invoke !== 'function') throw invalid(`The tool "${each?.name}" has no \`invoke\``);
    // It validates its input.
    return { name: each.name, description: each.description, jsonSchema: jsonSchemaOf(each.schema), call: (params, config) => each.invoke(/** @type {any} */ (params), config) };
  }), options);
  return tool(async ({ code }, config) => {
    const { toolCall: _, ...inner } = config ?? {};
    return JSON.stringify(await runner.run(code, { signal: config?.signal, context: inner }));
  }, { name, description: runner.description, schema: inputSchema() });
}

module.exports = { createCodeTool };
