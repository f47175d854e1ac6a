'use strict';
// Primitives, which cross without conversion.

const { TRANSFER } = require('../../core/protocol.js');

/** Shorter strings are read at once, whatever their characters are. */
const MIN_ONE_BYTE = 16_384;

/**
 * @param {unknown} value
 * @returns {boolean} false for symbols, which cannot leave their realm
 */
function isPrimitive(value) {
  const type = typeof value;
  return value === null || (type !== 'object' && type !== 'function' && type !== 'symbol');
}

/**
 * Whether the value is its own carrier. The carriers of long strings also say what characters they have.
 * @param {any} value
 * @param {number} bits of TRANSFER
 */
const isCarrier = (value, bits) => (bits & TRANSFER.ASKED_MASK) <= TRANSFER.COPY && isPrimitive(value)
  && !(typeof value === 'string' && value.length >= MIN_ONE_BYTE);

module.exports = { isCarrier, isPrimitive, MIN_ONE_BYTE };
