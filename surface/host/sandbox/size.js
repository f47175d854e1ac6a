'use strict';
// How large a result is: the bytes of its JSON in UTF-8, and of what JSON has no form for as much as it holds.

const { Buffer } = require('node:buffer');
const { types } = require('node:util');

/**
 * @param {unknown} value a clone: data without functions
 * @returns {number} bytes
 */
function sizeOf(value) {
  /** @type {Set<object>} */
  const seen = new Set();
  let extra = 0;

  /**
   * Takes the place of what JSON cannot say.
   * @param {string} _key
   * @param {any} each
   * @returns {unknown}
   */
  function replace(_key, each) {
    if (typeof each === 'bigint' || types.isBigIntObject(each)) {
      return String(each);
    }
    if (typeof each !== 'object' || each === null) {
      return each;
    }
    if (seen.has(each)) {
      // Once is enough: a cycle has no JSON, and what is shared is held once.
      return null;
    }
    seen.add(each);
    if (each instanceof Map || each instanceof Set) {
      return [...each];
    }
    if (each instanceof Error) {
      return { name: each.name, message: each.message, stack: each.stack, cause: each.cause };
    }
    if (each instanceof ArrayBuffer || ArrayBuffer.isView(each)) {
      extra += each.byteLength;
      return null;
    }
    return each;
  }

  return Buffer.byteLength(JSON.stringify(value, replace) ?? '') + extra;
}

module.exports = { sizeOf };
