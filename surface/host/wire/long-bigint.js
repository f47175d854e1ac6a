'use strict';
// A BigInt that takes long to create from its bytes. It is created from parts, in steps of a few milliseconds.

const { Buffer } = require('node:buffer');
const { cutOff, uncurryThis } = require('../../core/primordials.js');
const { unreadable } = require('./refusal.js');

const { BigInt } = globalThis;
const hexSlice = uncurryThis(Buffer.prototype.hexSlice);
const copyOf = uncurryThis(Uint8Array.prototype.slice);
const reverse = uncurryThis(Uint8Array.prototype.reverse);

/** Bytes that become a BigInt in one step. */
const PIECE = 2 ** 20;
const BITS_PER_BYTE = 8;

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end of the digits, lowest first
 * @returns {bigint}
 */
function magnitudeOf(bytes, start, end) {
  const digits = copyOf(bytes, start, end);
  reverse(digits);
  try {
    return BigInt(`0x${hexSlice(digits, 0, end - start)}`);
  } catch {
    throw unreadable('a BigInt that is too large');
  }
}

class LongBigInt {
  /** The parts created so far, lowest first, and the number of bytes of each. @type {bigint[]} */
  #parts = [];
  /** @type {number[]} */
  #sizes = [];
  /** The number of parts. */
  #count = 0;
  #bytes;
  #position;
  #end;
  #isNegative;

  /**
   * @param {Uint8Array} bytes
   * @param {number} start
   * @param {number} end
   * @param {boolean} isNegative
   */
  constructor(bytes, start, end, isNegative) {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
    this.#isNegative = isNegative;
  }

  /**
   * Performs the next step.
   * @returns {bigint | undefined} the value, after the last one
   */
  step() {
    const last = this.#count - 1;
    const isRead = this.#position === this.#end;
    if (last > 0 && (isRead || this.#sizes[last] === this.#sizes[last - 1])) {
      // Joins parts of equal size, so that each byte is copied only a few times.
      this.#join(last);
      return undefined;
    }
    if (!isRead) {
      const end = Math.min(this.#position + PIECE, this.#end);
      this.#parts[this.#count] = magnitudeOf(this.#bytes, this.#position, end);
      this.#sizes[this.#count] = end - this.#position;
      this.#count += 1;
      this.#position = end;
      return undefined;
    }
    return this.#isNegative ? -this.#parts[0] : this.#parts[0];
  }

  /** @param {number} last */
  #join(last) {
    try {
      this.#parts[last - 1] |= this.#parts[last] << BigInt(this.#sizes[last - 1] * BITS_PER_BYTE);
    } catch {
      throw unreadable('a BigInt that is too large');
    }
    this.#sizes[last - 1] += this.#sizes[last];
    this.#count = last;
  }
}

cutOff(LongBigInt);

/** @typedef {LongBigInt} Long */

module.exports = { LongBigInt, magnitudeOf, PIECE };
