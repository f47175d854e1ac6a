'use strict';
// Handles mean nothing outside of their realm. Without a mark `structuredClone`, `postMessage` and `workerData` would turn one
// into an empty object; with it they throw a DataCloneError.

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
  // Deno adds a symbol that everybody sees, and clones the object nevertheless.
  const probe = {};
  markAsUncloneable(probe);
  return ownKeys(probe).length === 0 ? markAsUncloneable : undefined;
}

/**
 * Has the host refuse to clone `object`, where it can be told so.
 * @type {Mark}
 */
function uncloneable(object) {
  // On first use: `worker_threads` takes a millisecond to load, while the first isolate starts on another thread.
  if (!isLoaded) {
    isLoaded = true;
    mark = load();
  }
  if (mark !== undefined) {
    mark(object);
  }
}

module.exports = { uncloneable };
