'use strict';
// Handles are useless outside their realm. `structuredClone`, `postMessage` and `workerData` turn an unmarked handle into an empty
// object. For a marked one, they throw a DataCloneError.

/** @typedef {(object: object) => void} Mark */

const { ownKeys } = Reflect;

/** @type {Mark | undefined} */
let mark;
let isLoaded = false;

/** @returns {Mark | undefined} absent on Node 20 */
function load() {
  const { markAsUncloneable } = /** @type {{ markAsUncloneable?: Mark }} */ (require('node:worker_threads'));
  if (markAsUncloneable === undefined) {
    return undefined;
  }
  // Deno adds a visible symbol and clones the object anyway.
  const probe = {};
  markAsUncloneable(probe);
  return ownKeys(probe).length === 0 ? markAsUncloneable : undefined;
}

/**
 * Makes the host refuse to clone `object`, if the host supports that.
 * @type {Mark}
 */
function uncloneable(object) {
  // On first use: loading `worker_threads` takes a millisecond, during which the first isolate starts on another thread.
  if (!isLoaded) {
    mark = load();
    isLoaded = true;
  }
  if (mark !== undefined) {
    mark(object);
  }
}

module.exports = { uncloneable };
