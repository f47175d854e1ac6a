'use strict';
// Reads short lists of primitives, which guests often pass to functions of their host. To make a reader takes longer than to read such a list.

const { MAX_SHORT_LIST } = require('../protocol.js');
const { repeatedText } = require('./short-text.js');
const { TAG, VERSION } = require('./tags.js');

/** Bits of an int32 whose bytes are read here, and bytes of a string: lengths of one byte. */
const MAX_SHIFT = 21;
const MORE = 127;

/** The elements. It is full, so that no assignment reaches a setter of a prototype. @type {unknown[]} */
const parts = [undefined, undefined, undefined, undefined, undefined, undefined, undefined, undefined];
const doubleBytes = new Uint8Array(8);
const double = new DataView(doubleBytes.buffer);

/**
 * @param {Uint8Array} bytes
 * @param {number} end of the value in them
 * @returns {unknown[] | undefined} undefined if the value is anything else, or malformed
 */
function shortList(bytes, end) {
  if (bytes[0] !== TAG.VERSION || bytes[1] !== VERSION.WRITTEN || bytes[2] !== TAG.BEGIN_DENSE_ARRAY) return undefined;
  const count = bytes[3];
  if (count > MAX_SHORT_LIST) return undefined;
  let at = 4;
  for (let index = 0; index < count; index += 1) {
    const tag = bytes[at];
    at += 1;
    if (tag === TAG.ONE_BYTE_STRING) {
      const length = bytes[at];
      at += 1;
      if (length > MORE || at + length > end) return undefined;
      parts[index] = repeatedText(bytes, at, length);
      at += length;
    } else if (tag === TAG.INT32) {
      let byte = bytes[at];
      at += 1;
      let value = byte & MORE;
      for (let shift = 7; byte > MORE; shift += 7) {
        if (shift > MAX_SHIFT) return undefined;
        byte = bytes[at];
        at += 1;
        value |= (byte & MORE) << shift;
      }
      parts[index] = (value >>> 1) ^ -(value & 1);
    } else if (tag === TAG.DOUBLE) {
      for (let byte = 0; byte < 8; byte += 1) doubleBytes[byte] = bytes[at + byte];
      at += 8;
      parts[index] = double.getFloat64(0, true);
    } else if (tag === TAG.TRUE || tag === TAG.FALSE) parts[index] = tag === TAG.TRUE;
    else if (tag === TAG.NULL) parts[index] = null;
    else if (tag === TAG.UNDEFINED) parts[index] = undefined;
    else return undefined;
  }
  // So nothing was read beyond the end.
  if (at + 3 !== end || bytes[at] !== TAG.END_DENSE_ARRAY || bytes[at + 1] !== 0 || bytes[at + 2] !== count) return undefined;
  return listOf(count);
}

/** @param {number} count of parts */
function listOf(count) {
  const { 0: a, 1: b, 2: c, 3: d } = parts;
  switch (count) {
    case 0: return [];
    case 1: return [a];
    case 2: return [a, b];
    case 3: return [a, b, c];
    case 4: return [a, b, c, d];
    case 5: return [a, b, c, d, parts[4]];
    case 6: return [a, b, c, d, parts[4], parts[5]];
    case 7: return [a, b, c, d, parts[4], parts[5], parts[6]];
    default: return [a, b, c, d, parts[4], parts[5], parts[6], parts[7]];
  }
}

module.exports = { shortList };
