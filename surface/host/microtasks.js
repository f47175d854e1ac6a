'use strict';
// Runs the host's microtasks and the callbacks of `process.nextTick`, as hosts do between two callbacks of their event loop. One turn of the
// event loop can deliver several results and requests of guests. What host code awaits after one must run before the next is delivered:
// otherwise, the order in which promises settle would depend on how many deliveries share a turn.
//
// No host documents a function for this, so its absence is no error: several deliveries of a turn then share a checkpoint.

const { Deno } = /** @type {any} */ (globalThis);
const { nextTick } = process;

/** @returns {unknown} */
function ofHost() {
  if (process.versions.bun !== undefined) {
    return /** @type {any} */ (process).getBuiltinModule?.('bun:jsc')?.drainMicrotasks;
  }
  return Deno === undefined ? /** @type {any} */ (process)._tickCallback : Deno[Deno.internal]?.core?.runNextTicks;
}

/** @returns {unknown} */
function find() {
  try {
    return ofHost();
  } catch {
    // Not supported by this version.
    return undefined;
  }
}

const run = find();

/**
 * @returns {boolean} false if a callback has thrown: then the host reports the exception, and runs the remaining callbacks, before anything else
 *   should be delivered
 */
function runMicrotasks() {
  if (typeof run !== 'function') return true;
  try {
    run();
    return true;
  } catch (error) {
    nextTick(() => {
      throw error;
    });
    return false;
  }
}

module.exports = { runMicrotasks };
