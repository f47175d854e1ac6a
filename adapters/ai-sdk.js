'use strict';
// A tool of the AI SDK (`ai`) that runs code of a model in an isolate of its own. The code can call other tools on the host.

const { CheckedParams, createRunner, inputSchema } = require('./code-runner.js');
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
 * How the params of a tool are described and checked.
 * @param {any} schema
 * @returns {Pick<import('./code-runner.js').Tool, 'jsonSchema' | 'check' | 'paramsSchema'>}
 */
function paramsOf(schema) {
  if (!schema?.[SCHEMA]) {
    return { jsonSchema: standardJsonSchema(schema), check: checking((params) => standardValidated(schema, params)) };
  }
  // A getter, which may make another promise each time.
  const { jsonSchema } = schema;
  const isLate = typeof jsonSchema?.then === 'function';
  if (isLate) discardReturned(jsonSchema);
  return {
    jsonSchema: isLate ? undefined : jsonSchema,
    ...(typeof schema.validate === 'function' ? { check: checking((params) => validated(schema, params)) } : { paramsSchema: jsonSchema }),
  };
}

/** @param {(params: unknown) => Promise<unknown>} validate */
const checking = (validate) => async (/** @type {unknown} */ params) => {
  const value = await validate(params);
  return new CheckedParams(value, value);
};

/**
 * @param {any} schema
 * @param {unknown} value
 * @throws what is wrong with the value
 */
async function validated(schema, value) {
  const outcome = await schema.validate(value);
  if (outcome?.success !== false && outcome?.value !== undefined) return outcome.value;
  // Nothing receives what else it may have.
  discardReturned(outcome);
  if (outcome?.success === false) throw outcome.error;
  return outcome === undefined ? value : outcome.value;
}

/**
 * What a tool returns, or the last one of several values, until the call is over.
 * @param {any} returned
 * @param {{ abortSignal: AbortSignal }} context of the call
 */
async function lastOf(returned, context) {
  if (typeof returned?.[Symbol.asyncIterator] !== 'function') return returned;
  const { abortSignal } = context;
  let last;
  try {
    for await (const value of returned) {
      if (abortSignal.aborted) {
        discardReturned(value);
        break;
      }
      discardReturned(last);
      last = value;
    }
  } catch (error) {
    discardReturned(last);
    throw error;
  }
  return last;
}

/** @type {typeof import('./ai-sdk.js').createCodeTool} */
function createCodeTool({ tools = {}, ...options } = {}) {
  const runner = createRunner(Object.entries(tools).map(([name, tool]) => {
    if (typeof tool?.execute !== 'function') throw invalid(`The tool "${name}" has no \`execute\``);
    // Code would call it without asking.
    if (tool.needsApproval) throw invalid(`The tool "${name}" needs approval, and cannot be called by code`);
    return {
      name,
      description: typeof tool.description === 'string' ? tool.description : undefined,
      ...paramsOf(schemaOf(tool.inputSchema)),
      call: async (params, context) => lastOf(tool.execute?.(params, context), context),
    };
  }), options);
  return {
    description: runner.description,
    inputSchema: /** @type {any} */ ({ [SCHEMA]: true, _type: undefined, jsonSchema: inputSchema(), validate: checkInput }),
    execute: ({ code }, context) => runner.run(code, {
      signal: context?.abortSignal, contextOf: (call) => ({ ...context, get abortSignal() { return call.signal; } }),
    }),
  };
}

/** @param {any} value */
const checkInput = (value) => (typeof value?.code === 'string' ? { success: true, value } : { success: false, error: invalid('`code` must be a string') });

module.exports = { createCodeTool };
