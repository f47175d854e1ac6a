'use strict';
// Runs of strings among the elements of an array. A call into the host for each string takes several times as long as creating it. If the host's
// engine is V8, its own deserializer creates all strings of a run in one call, after each of them has been checked.

const { uncurryThis } = require('../../core/primordials.js');
const { isSupported, nativeReader, READABLE } = require('./native-reader.js');
const { WEIGHT } = require('./reading-limits.js');
const { TAG } = require('./tags.js');

const subarray = uncurryThis(Uint8Array.prototype.subarray);

/** Creating a deserializer takes as long as creating some of the strings one by one. */
const MIN_COUNT = 24;
/** Few enough for two bytes of length, and for a list that V8 does not allocate as a large object. */
const MAX_COUNT = 4096;
/** Bytes that are read between two checks of the clock: creating their strings takes less than a millisecond. */
const MAX_BYTES = 262_144;

/** The engine reads a run as an array of its own: a header, a tag and a length before it, and an end after it. */
const BEFORE = 5;
const AFTER = 4;
const frameBytes = new Uint8Array(BEFORE + AFTER);

/**
 * @typedef {object} Run
 * @property {number} count of its strings
 * @property {number} end
 * @property {number} weight of its strings
 */

/**
 * Finds the strings that follow one another.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} most strings that are wanted
 * @returns {Run | undefined} undefined if they are too few
 */
function findRun(bytes, start, most) {
  const whole = bytes.length;
  const last = Math.min(start + MAX_BYTES, whole - AFTER);
  const limit = Math.min(most, MAX_COUNT);
  let count = 0;
  let characters = 0;
  let end = start;
  while (count < limit && end < last) {
    let at = end;
    // V8 writes a byte of padding before some strings.
    let tag = bytes[at++];
    if (tag === TAG.PADDING) tag = bytes[at++];
    if (tag !== TAG.ONE_BYTE_STRING && tag !== TAG.TWO_BYTE_STRING) break;
    const text = at;
    let size = bytes[at++];
    if (size > 127) {
      const high = bytes[at++];
      if (high > 127) break;
      size = (size & 127) | (high << 7);
    }
    at += size;
    if (at > whole - AFTER || (tag === TAG.TWO_BYTE_STRING && (size & 1) === 1)) break;
    characters += at - text;
    count++;
    end = at;
  }
  return count >= MIN_COUNT && start >= BEFORE && nativeReader() !== undefined ? { count, end, weight: count * WEIGHT.STRING + characters } : undefined;
}

/**
 * Exchanges what is around a run for what was there before.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end
 */
function exchange(bytes, start, end) {
  for (let index = 0; index < BEFORE + AFTER; index++) {
    const at = index < BEFORE ? start - BEFORE + index : end + index - BEFORE;
    const byte = bytes[at];
    bytes[at] = frameBytes[index];
    frameBytes[index] = byte;
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {Run} run
 * @returns {unknown[]} its strings
 */
function stringsOf(bytes, start, { count, end }) {
  const low = (count & 127) | 128;
  const high = count >> 7;
  frameBytes.set([TAG.VERSION, READABLE, TAG.BEGIN_DENSE_ARRAY, low, high, TAG.END_DENSE_ARRAY, 0, low, high]);
  exchange(bytes, start, end);
  try {
    return /** @type {NonNullable<ReturnType<typeof nativeReader>>} */ (nativeReader())(subarray(bytes, start - BEFORE, end + AFTER));
  } finally {
    exchange(bytes, start, end);
  }
}

module.exports = { findRun, isSupported, stringsOf };
