'use strict';
// Texts of one-byte characters.

const { Buffer } = require('node:buffer');
const { uncurryThis } = require('../../core/primordials.js');

const { fromCharCode } = String;
const latin1Slice = uncurryThis(Buffer.prototype.latin1Slice);

/** Up to this length, JavaScript creates a string faster than a call into the host does. */
const SHORT = 12;

/**
 * @param {Uint8Array} b
 * @param {number} at
 * @param {number} length
 * @returns {string} the characters
 */
const oneByteText = (b, at, length) => (length > SHORT ? latin1Slice(b, at, at + length) : shortText(b, at, length));

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

module.exports = { latin1Slice, oneByteText };
