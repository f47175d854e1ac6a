'use strict';
// Standard Schemas of tools in adapters.

/**
 * The JSON Schema of a Standard Schema, if it can be converted.
 * @param {any} schema
 */
function standardJsonSchema(schema) {
  try {
    return schema?.['~standard']?.jsonSchema?.input({ target: 'draft-07' });
  } catch {
    return undefined;
  }
}

/**
 * @param {any} schema a Standard Schema, or undefined
 * @param {unknown} value
 * @returns {Promise<any>} what the schema makes of the value
 * @throws what is wrong with the value
 */
async function standardValidated(schema, value) {
  const outcome = await schema?.['~standard']?.validate(value);
  if (outcome?.issues !== undefined) throw new TypeError(outcome.issues.map((/** @type {any} */ { path = [], message }) => `${path.join('.')}: ${message}`).join('\n'));
  return outcome === undefined ? value : outcome.value;
}

module.exports = { standardJsonSchema, standardValidated };
