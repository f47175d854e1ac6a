'use strict';
// The outcome of an execution as a framework gets it: plain JSON.

const { jsonReplacer } = require('../command/text.js');

const MAX_MESSAGE = 10_000;
/** Bytes of a result as JSON by default. It is written and parsed in one piece. */
const MAX_OUTPUT = 2 ** 20;

/**
 * The beginning of what an error says, which a guest may have made megabytes long: frameworks pass it on to a model.
 * @param {string} text
 */
const beginning = (text) => text.slice(0, MAX_MESSAGE);

/** @param {string} message */
const invalid = (message) => Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG' });

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
    return { success: false, error: { name: beginning(name), message: beginning(message), ...(code === undefined ? {} : { code }), ...place }, ...more };
  }
  try {
    return { success: true, result: plainOf(result), ...more };
  } catch (/** @type {any} */ error) {
    return { success: false, error: { name: 'TypeError', message: beginning(`The result cannot be written as JSON: ${error.message.split('\n')[0]}`) }, ...more };
  }
}

module.exports = { beginning, invalid, MAX_OUTPUT, plainOf, resultOf };
