'use strict';
// A tool of the AI SDK (`ai`) that runs code of a model in an isolate of its own. The code can call other tools on the host.

const { createRunner, inputSchema } = require('./code-runner.js');
const { discardReturned } = require('./observers.js');
const { invalid } = require('./outcome.js');
const { standardJsonSchema, standardValidated } = require('./schemas.js');

/** How the AI SDK recognizes its schemas. */
const SCHEMA = Symbol.for('vercel.ai.schema');

/**
 * The schema of a tool's input: one of the AI SDK, or a function that returns one, or a Standard Schema.
 * @param {any} schema
 */
const schemaOf = (schema) => (typeof schema === 'function' && schema['~standard'] === undefined ? schema() : schema);

/**
 * As JSON Schema, if it can be had at once.
 * @param {any} schema
 */
function jsonSchemaOf(schema) {
  if (!schema?.[SCHEMA]) return standardJsonSchema(schema);
  // A getter, which may make another promise each time.
  const { jsonSchema } = schema;
  if (typeof jsonSchema?.then !== 'function') return jsonSchema;
  discardReturned(jsonSchema);
  return undefined;
}

/**
 * @param {any} schema
 * @param {unknown} value
 * @throws what is wrong with the value
 */
async function validated(schema, value) {
  if (!schema?.[SCHEMA]) return standardValidated(schema, value);
  const outcome = await schema.validate?.(value);
  if (outcome?.success === false) throw outcome.error;
  return outcome === undefined ? value : outcome.value;
}

/**
 * What a tool returns, or the last one of several values.
 * @param {any} returned
 */
async function lastOf(returned) {
  if (typeof returned?.[Symbol.asyncIterator] !== 'function') return returned;
  let last;
  for await (const value of returned) last = value;
  return last;
}

/** @type {typeof import('./ai-sdk.js').createCodeTool} */
function createCodeTool({ tools = {}, ...options } = {}) {
  const runner = createRunner(Object.entries(tools).map(([name, tool]) => {
    if (typeof tool?.execute !== 'function') throw invalid(`The tool "${name}" has no \`execute\``);
    // Code would call it without asking.
    if (tool.needsApproval) throw invalid(`The tool "${name}" needs approval, and cannot be called by code`);
    const schema = schemaOf(tool.inputSchema);
    return {
      name,
      description: typeof tool.description === 'string' ? tool.description : undefined,
      jsonSchema: jsonSchemaOf(schema),
      async check(params) {
        const value = await validated(schema, params);
        return { params: value, approved: value };
      },
      call: async (params, context) => lastOf(tool.execute?.(params, context)),
    };
  }), options);
  return {
    description: runner.description,
    inputSchema: /** @type {any} */ ({ [SCHEMA]: true, _type: undefined, jsonSchema: inputSchema(), validate: checkInput }),
    execute: ({ code }, context) => runner.run(code, { signal: context?.abortSignal, context }),
  };
}

/** @param {any} value */
const checkInput = (value) => (typeof value?.code === 'string' ? { success: true, value } : { success: false, error: invalid('`code` must be a string') });

module.exports = { createCodeTool };
