'use strict';
// Texts of one-byte characters.

const { Buffer } = require('node:buffer');
const { fromCharCode } = String;
// Called with `call`, as in brand.js.
const { latin1Slice } = /** @type {any} */ (Buffer.prototype);

/** Up to this length, JavaScript creates a string faster than a call into the host does. */
const SHORT = 12;

/**
 * @param {Uint8Array} b
 * @param {number} at
 * @param {number} length
 * @returns {string} the characters
 */
const oneByteText = (b, at, length) => (length > SHORT ? latin1Slice.call(b, at, at + length) : shortText(b, at, length));

/**
 * @param {Uint8Array} b
 * @param {number} at
 * @param {number} length up to SHORT
 */
function shortText(b, at, length) {
  switch (length) {
    case 0: return '';
    case 1: return fromCharCode(b[at]);
    case 2: return fromCharCode(b[at], b[at + 1]);
    case 3: return fromCharCode(b[at], b[at + 1], b[at + 2]);
    case 4: return fromCharCode(b[at], b[at + 1], b[at + 2], b[at + 3]);
    case 5: return fromCharCode(b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4]);
    case 6: return fromCharCode(b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5]);
    case 7: return fromCharCode(b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6]);
    case 8:
      return fromCharCode(b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7]);
    case 9:
      return fromCharCode(b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7], b[at + 8]);
    case 10:
      return fromCharCode(
        b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7], b[at + 8], b[at + 9],
      );
    case 11:
      return fromCharCode(
        b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7], b[at + 8], b[at + 9],
        b[at + 10],
      );
    default:
      return fromCharCode(
        b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7], b[at + 8], b[at + 9],
        b[at + 10], b[at + 11],
      );
  }
}

/** Places for short texts that come again, and bytes of each: the length, and the characters. */
const PLACES = 512;
const PLACE_SHIFT = 4;
/** Of the texts that are not found, one in so many takes a place that has another one. */
const REPLACED = 8;

const known = Array.from({ length: PLACES }, () => '');
const knownBytes = new Uint8Array(PLACES << PLACE_SHIFT);
let missed = 0;

/**
 * The same as `oneByteText`, for texts that often come again, such as names. Engines find properties faster by a string that was used for that before.
 * @param {Uint8Array} b
 * @param {number} at
 * @param {number} length
 * @returns {string}
 */
function repeatedText(b, at, length) {
  // Engines have the strings of one character.
  if (length < 2 || length > SHORT) return oneByteText(b, at, length);
  const place = (length * 5 + b[at] * 59 + b[at + (length >> 1)] * 17 + b[at + length - 1] * 3) & (PLACES - 1);
  const start = place << PLACE_SHIFT;
  let same = knownBytes[start] === length ? 0 : -1;
  while (same >= 0 && same < length) same = knownBytes[start + 1 + same] === b[at + same] ? same + 1 : -1;
  if (same === length) return known[place];
  const text = shortText(b, at, length);
  missed = (missed + 1) % REPLACED;
  if (missed === 0 || knownBytes[start] === 0) {
    // A host may end JavaScript anywhere. Then no text has this length.
    knownBytes[start] = 0;
    for (let index = 0; index < length; index += 1) knownBytes[start + 1 + index] = b[at + index];
    known[place] = text;
    knownBytes[start] = length;
  }
  return text;
}

module.exports = { latin1Slice, oneByteText, repeatedText };
