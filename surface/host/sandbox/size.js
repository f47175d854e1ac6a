'use strict';
// How large a result is: the bytes of its JSON in UTF-8, and of what JSON has no form for as much as it holds.

const { Buffer } = require('node:buffer');
const { types } = require('node:util');

/** Bytes over the limit up to which the true size is found out. */
const TOLERANCE = 2 ** 20;

/** There is no need to go on. */
class TooLarge {}

/**
 * What is shared counts wherever it stands, as in JSON; a cycle, which has none, is cut where it closes.
 * @param {unknown} value a clone: data without functions
 * @param {number} most measuring stops beyond this: what is shared again and again may be larger than any memory
 * @returns {number} bytes; Infinity where they are more than `most` by far
 */
function sizeOf(value, most) {
  /** @type {object[]} the objects that the present one lies in */
  const path = [];
  let extra = 0;
  let least = 0;

  /**
   * Takes the place of what JSON cannot say.
   * @this {any}
   * @param {string} key
   * @param {any} each
   * @returns {unknown}
   */
  function replace(key, each) {
    least += key.length + 1 + (typeof each === 'string' ? each.length : 1);
    if (least + extra > most + TOLERANCE) {
      throw new TooLarge();
    }
    if (typeof each === 'bigint' || types.isBigIntObject(each)) {
      return String(each);
    }
    if (typeof each !== 'object' || each === null) {
      return each;
    }
    // A Map is walked as an array that stands for it; that array's holder is the Map's.
    while (path.length > 0 && formOf.get(path[path.length - 1]) !== this) {
      path.pop();
    }
    if (path.includes(each)) {
      return null;
    }
    const form = formFor(each);
    if (form === null) {
      return null;
    }
    path.push(each);
    formOf.set(each, form);
    return form;
  }

  /** @type {Map<object, object>} what is walked in the place of an object, mostly itself */
  const formOf = new Map();

  /** @param {any} each */
  function formFor(each) {
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

  try {
    return Buffer.byteLength(JSON.stringify(value, replace) ?? '') + extra;
  } catch (error) {
    if (error instanceof TooLarge) {
      return Infinity;
    }
    throw error;
  }
}

module.exports = { sizeOf };
