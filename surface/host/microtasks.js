'use strict';
// Runs the host's microtasks and the callbacks of `process.nextTick`, as hosts do between two callbacks of their event loop. One turn of the
// event loop can deliver several results and requests of guests. What host code awaits after one must run before the next is delivered:
// otherwise, the order in which promises settle would depend on how many deliveries share a turn.
//
// No host documents a function for this, so its absence is no error: several deliveries of a turn then share a checkpoint.

const { Deno } = /** @type {any} */ (globalThis);

/** @returns {unknown} */
function ofHost() {
  if (process.versions.bun !== undefined) {
    return /** @type {any} */ (process).getBuiltinModule?.('bun:jsc')?.drainMicrotasks;
  }
  return Deno === undefined ? Reflect.get(process, '_tickCallback') : Deno[Deno.internal]?.core?.runNextTicks;
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

/** Throws what a callback throws: that is an uncaught exception, which the host must report before anything else is delivered. */
function runMicrotasks() {
  if (typeof run === 'function') run();
}

module.exports = { runMicrotasks };
