'use strict';
// The `inputSchema` of a tool: a Standard Schema, whose own function validates, a JSON Schema, which `validation.js` evaluates, or a promise for
// one of these.

const { invalid } = require('../../../core/error.js');
const { adopt, discard, isThenable, ORIGIN } = require('../../calls/host-calls.js');
const { isObject, readJsonSchema } = require('./json-schema.js');
const { member } = require('../common/options.js');
const { issuesOf, MAX_ISSUES } = require('./validation.js');

/** Characters of the issues that a library reports. */
const MAX_MESSAGE = 500;
const MAX_PATH = 20;

/**
 * @typedef {(params: unknown, ending: import('./validation.js').Ending) => unknown} Check returns what the tool gets, or a promise for it;
 *   throws an error for the guest, or rejects with it
 */

/**
 * The part of a schema that implements Standard Schema.
 * @param {any} schema
 * @returns {any} undefined for a JSON Schema
 */
function standardOf(schema) {
  const isCandidate = (typeof schema === 'object' && schema !== null) || typeof schema === 'function';
  return isCandidate ? member(schema, '~standard') : undefined;
}

/**
 * @param {string} name of the tool
 * @param {readonly string[]} issues
 */
const refusal = (name, issues) => new TypeError(`Invalid params for the tool ${JSON.stringify(name)}: ${issues.join('; ')}`);

/**
 * @param {any} segment of a path: a key, or an object with one
 * @returns {string}
 */
function keyOf(segment) {
  const key = typeof segment === 'object' ? member(segment, 'key') : segment;
  return typeof key === 'number' ? `[${key}]` : typeof key === 'string' ? `.${key.slice(0, MAX_MESSAGE)}` : '';
}

/** @param {any} issue of a library */
function describe(issue) {
  const [path, message] = ['path', 'message'].map((name) => member(issue, name));
  const place = Array.isArray(path) ? path.slice(0, MAX_PATH).map(keyOf).join('') : '';
  return `params${place}: ${typeof message === 'string' ? message.slice(0, MAX_MESSAGE) : 'is not valid'}`;
}

/**
 * @param {any} standard
 * @param {string} name of the tool
 * @returns {Check}
 */
function standardCheck(standard, name) {
  const validate = member(standard, 'validate');
  if (typeof validate !== 'function') {
    throw invalid(`\`inputSchema\` of the tool ${JSON.stringify(name)} must be a Standard Schema or a JSON Schema`);
  }
  /** @param {any} result */
  const outputOf = (result) => {
    if (typeof result !== 'object' || result === null) {
      throw new TypeError(`The schema of the tool ${JSON.stringify(name)} gave no result`);
    }
    const issues = member(result, 'issues');
    const value = issues ? undefined : member(result, 'value');
    if (value === undefined) {
      // Nothing receives what else it may have.
      discard(ORIGIN.TOOL, result);
    }
    if (!issues) {
      return value;
    }
    throw refusal(name, Array.isArray(issues) ? issues.slice(0, MAX_ISSUES).map(describe) : ['not valid']);
  };
  return (params) => {
    /** @type {unknown} */
    const returned = Reflect.apply(validate, standard, [params]);
    return isThenable(returned) ? adopt(returned).then(outputOf) : outputOf(returned);
  };
}

/** JSON Schemas that were read. Reading takes longer than most executions. @type {WeakMap<object, import('./json-schema.js').Node>} */
const nodes = new WeakMap();

/**
 * @param {any} schema
 * @param {string} name of the tool
 * @returns {Check}
 */
function jsonCheck(schema, name) {
  if (!isObject(schema)) {
    throw invalid(`\`inputSchema\` of the tool ${JSON.stringify(name)} must be a Standard Schema or a JSON Schema`);
  }
  const node = nodes.get(schema) ?? readJsonSchema(schema, `\`inputSchema\` of the tool ${JSON.stringify(name)}`);
  nodes.set(schema, node);
  return (params, ending) => {
    /** @param {readonly string[]} issues */
    const judged = (issues) => {
      if (issues.length > 0) {
        throw refusal(name, issues);
      }
      return params;
    };
    const issues = issuesOf(node, params, ending);
    return issues instanceof Promise ? issues.then(judged) : judged(issues);
  };
}

/**
 * A schema that is not known yet. Only calls of its tool wait for it, so the execution's limits apply.
 * @param {any} promise
 * @param {string} name of the tool
 * @returns {Check}
 */
function lateCheck(promise, name) {
  const check = adopt(promise).then((schema) => checkOf(schema, name));
  // There may be no call that gets its error.
  discard(ORIGIN.TOOL, promise);
  check.catch(() => {});
  return async (params, ending) => {
    const found = await check;
    return found === undefined ? params : found(params, ending);
  };
}

/**
 * @param {any} schema
 * @param {string} name of the tool
 * @returns {Check | undefined} undefined if there is no schema
 */
function checkOf(schema, name) {
  if (schema === undefined || schema === null) {
    return undefined;
  }
  const standard = standardOf(schema);
  if (standard !== undefined && standard !== null) {
    return standardCheck(standard, name);
  }
  return isThenable(schema) ? lateCheck(schema, name) : jsonCheck(schema, name);
}

/**
 * @param {any} tool
 * @param {string} name
 * @returns {Check | undefined} undefined if the tool has no schema
 * @throws {TypeError} `ERR_INVALID_ARG` if its schema is invalid, or has keywords that are not supported
 */
const readSchema = (tool, name) => checkOf(member(tool, 'inputSchema'), name);

/**
 * The JSON Schema of a tool's schema, for its description.
 * @param {any} schema
 * @param {'input' | 'output'} side
 * @returns {any} undefined if there is none
 */
function jsonSchemaOf(schema, side) {
  const standard = standardOf(schema);
  if (standard === undefined || standard === null) {
    return isObject(schema) ? schema : undefined;
  }
  const converter = member(standard, 'jsonSchema');
  if (typeof member(converter, side) !== 'function') {
    return undefined;
  }
  try {
    return converter[side]({ target: 'draft-2020-12' });
  } catch {
    // A type that has no JSON Schema.
    return undefined;
  }
}

module.exports = { jsonSchemaOf, readSchema };
