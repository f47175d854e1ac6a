'use strict';
// Transfers buffers of this host: their memory moves to buffers that only a carrier refers to.

const { refused } = require('../../core/error.js');
const { MESSAGE, TAG } = require('../../core/protocol.js');
const { isDetached } = require('../wire/views.js');

/**
 * Node never transfers memory that it does not own, such as memory of other addons or of a file. Bun and Deno do. A guest would then hold
 * memory of an addon or a file instead of just bytes, so the memory is copied there.
 */
const OWNS_MEMORY = process.versions.bun === undefined && !('Deno' in globalThis);

const { getOwnPropertyDescriptor } = Object;
const byteLengthOf = /** @type {(this: ArrayBuffer) => number} */ (
  getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get
);

/**
 * Detaches the buffers. `structuredClone` knows which buffers the host never transfers. Detaching one of those with Node-API ends the
 * process, or detaches the host's own pool.
 * @param {ArrayBuffer[]} buffers no two the same
 * @returns {Map<ArrayBuffer, [number, ArrayBuffer, boolean]>} for each buffer, the carrier with its memory
 */
function take(buffers) {
  if (buffers.some(isDetached)) {
    throw refused(MESSAGE.DETACHED);
  }
  const full = buffers.filter((buffer) => byteLengthOf.call(buffer) > 0);
  /** @type {ArrayBuffer[]} */
  let taken;
  try {
    taken = structuredClone(buffers, { transfer: buffers });
  } catch {
    taken = [];
  }
  // Node 20 and Deno copy buffers that they do not transfer.
  if (taken.length < buffers.length || full.some((buffer) => byteLengthOf.call(buffer) > 0)) {
    throw refused('An ArrayBuffer cannot be moved because the host keeps its memory. Copy it instead.');
  }
  return new Map(buffers.map((buffer, index) => [buffer, [TAG.MOVE, /** @type {ArrayBuffer} */ (taken[index]), OWNS_MEMORY]]));
}

module.exports = { take };
