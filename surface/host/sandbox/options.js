'use strict';
// Options of the sandboxes: wrong ones are refused by name, missing ones have defaults.

const { invalid } = require('../../error.js');

const LEAST_MEMORY = 8;
const MOST = Number.MAX_SAFE_INTEGER;

/**
 * @param {string} name
 * @param {string} what
 */
const wrong = (name, what) => invalid(`\`${name}\` must be ${what}`);

/**
 * @param {unknown} options
 * @returns {Record<string, any>}
 */
function checkOptions(options) {
  if (options === undefined || options === null) {
    return {};
  }
  if (typeof options !== 'object') {
    throw wrong('options', 'an object');
  }
  return /** @type {Record<string, any>} */ (options);
}
/**
 * @param {Record<string, any>} options
 * @param {string} name
 * @param {number} fallback
 * @param {number} least
 * @returns {number}
 */
function readNumber(options, name, fallback, least) {
  const value = options[name];
  if (value === undefined || value === null) {
    return fallback;
  }
  if (typeof value !== 'number' || !(value >= least && value <= MOST)) {
    throw wrong(name, `a number of at least ${least}`);
  }
  return value;
}

/**
 * `memoryLimit` in whole megabytes.
 * @param {Record<string, any>} options
 * @param {number} fallback
 */
const readMemory = (options, fallback) => Math.trunc(readNumber(options, 'memoryLimit', fallback, LEAST_MEMORY));

/**
 * An environment variable; one that the host does not let us read counts as unset.
 * @param {string} name
 */
function readEnvironment(name) {
  try {
    return process.env[name];
  } catch {
    return undefined;
  }
}

/**
 * @param {Record<string, any>} options
 * @param {string} name
 * @returns {boolean} false where there is none
 */
function readBoolean(options, name) {
  const value = options[name];
  if (value === undefined || value === null) {
    return false;
  }
  if (typeof value !== 'boolean') {
    throw wrong(name, 'a boolean');
  }
  return value;
}

module.exports = { checkOptions, readBoolean, readEnvironment, readMemory, readNumber, wrong };
