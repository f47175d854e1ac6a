'use strict';
// Buffers of this host that are given away: their memory goes into buffers that only a carrier refers to.

const { refused } = require('../error.js');
const { TAG } = require('../protocol.js');
const { isDetached } = require('./wire/views.js');

/**
 * Node gives nobody memory that is not its own: of other addons, or of a file. Bun and Deno do, and a guest that gets it has more than
 * bytes; there it is copied.
 */
const OWNS_MEMORY = process.versions.bun === undefined && !('Deno' in globalThis);

const { getOwnPropertyDescriptor } = Object;
const byteLengthOf = /** @type {(this: ArrayBuffer) => number} */ (
  getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get
);

/**
 * Empties the buffers. Through `structuredClone`, which knows what this host never gives away; emptied by Node-API,
 * such a buffer ends the process, or the host's own pool.
 * @param {ArrayBuffer[]} buffers no two the same
 * @returns {Map<ArrayBuffer, [number, ArrayBuffer, boolean]>} the carrier of what each has become
 */
function take(buffers) {
  if (buffers.some(isDetached)) {
    throw refused('An ArrayBuffer is detached and could not be cloned.');
  }
  const full = buffers.filter((buffer) => byteLengthOf.call(buffer) > 0);
  /** @type {ArrayBuffer[]} */
  let taken;
  try {
    taken = structuredClone(buffers, { transfer: buffers });
  } catch {
    taken = [];
  }
  // Node 20 and Deno copy what they do not give away.
  if (taken.length < buffers.length || full.some((buffer) => byteLengthOf.call(buffer) > 0)) {
    throw refused('An ArrayBuffer cannot be moved because the host keeps its memory. Copy it instead.');
  }
  return new Map(buffers.map((buffer, index) => [buffer, [TAG.MOVE, /** @type {ArrayBuffer} */ (taken[index]), OWNS_MEMORY]]));
}

module.exports = { take };
