'use strict';
// Describes why an execution was refused or aborted: by an error that occurred here, on the host, or by a signal.

const { CODE } = require('../../../core/error.js');
const { thrownText } = require('../../wire/faults.js');

/** @type {readonly unknown[]} */
const CODES = Object.freeze(Object.values(CODE));

/** @param {{ reason: unknown }} signal */
function abortedBy({ reason }) {
  return { value: `Execution was aborted: ${textOf(reason)}`, code: CODE.ABORTED };
}

/**
 * A user's value as text, even if it has no string form or throws.
 * @param {any} value
 * @returns {string}
 */
function textOf(value) {
  try {
    return thrownText(value instanceof Error ? value.message : value);
  } catch {
    return 'a value without a string form';
  }
}

/**
 * @param {object} error
 * @returns {string | undefined} its code, if that is one of this library's. Errors of the host may have others
 */
function libraryCode(error) {
  const code = Object.hasOwn(error, 'code') ? /** @type {{ code?: any }} */ (error).code : undefined;
  return CODES.includes(code) ? code : undefined;
}

/**
 * Describes an error that occurred here, on the host.
 * @param {unknown} error
 */
function refusedBy(error) {
  try {
    if (error instanceof Error) {
      const { message, name } = error;
      return { value: thrownText(message), name: thrownText(name), code: libraryCode(error) };
    }
  } catch {
    // A getter of the host's options may have thrown anything.
  }
  return { value: textOf(error) };
}

module.exports = { abortedBy, libraryCode, refusedBy };
