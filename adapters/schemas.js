'use strict';
// Standard Schemas of tools in adapters.

const { discardReturned } = require('./observers.js');

/** Limits of what an error says: code chooses how many issues its params have. */
const MAX = Object.freeze({ issues: 10, path: 20, message: 500 });

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
 * A part of the path to what is wrong. A schema may put a guest's value there, whose text may take any time.
 * @param {any} part a key, or an object with one
 */
function keyOf(part) {
  const key = typeof part === 'object' ? part?.key : part;
  return typeof key === 'string' ? key.slice(0, MAX.message) : typeof key === 'number' || typeof key === 'symbol' ? String(key) : '';
}

/** @param {{ path?: readonly any[], message: string }} issue */
const textOf = ({ path = [], message }) => `${path.slice(0, MAX.path).map(keyOf).join('.')}: ${message.slice(0, MAX.message)}`;

/**
 * @param {any} schema a Standard Schema, or undefined
 * @param {unknown} value
 * @returns {Promise<any>} what the schema makes of the value
 * @throws what is wrong with the value
 */
async function standardValidated(schema, value) {
  const outcome = await schema?.['~standard']?.validate(value);
  if (outcome?.issues === undefined && outcome?.value !== undefined) return outcome.value;
  // Nothing receives what else it may have.
  discardReturned(outcome);
  if (outcome?.issues !== undefined) throw new TypeError(outcome.issues.slice(0, MAX.issues).map(textOf).join('\n'));
  return outcome === undefined ? value : outcome.value;
}

module.exports = { standardJsonSchema, standardValidated };
