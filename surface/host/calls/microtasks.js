'use strict';
// Runs the host's microtasks and the callbacks of `process.nextTick`, as hosts do between two callbacks of their event loop. One turn of the
// event loop can deliver several results and requests of guests. What host code awaits after one must run before the next is delivered:
// otherwise, the order in which promises settle would depend on how many deliveries share a turn.
//
// No host documents a function for this, so its absence is no error: several deliveries of a turn then share a checkpoint.

const { Deno } = /** @type {any} */ (globalThis);

/**
 * Node's function. With `--pending-deprecation`, it is in a wrapper that reports a deprecation, which ends the process with `--throw-deprecation`. The
 * prototype of such a wrapper is the function itself.
 */
function ofNode() {
  const { prototype } = Function;
  const found = Reflect.get(process, '_tickCallback');
  const inner = typeof found === 'function' ? Object.getPrototypeOf(found) : undefined;
  return typeof inner === 'function' && inner !== prototype ? inner : found;
}

/**
 * On Deno, only the microtasks: it reports rejections together with `process.nextTick`, and cannot end with an uncaught one there.
 * @returns {unknown}
 */
function ofHost() {
  if (process.versions.bun !== undefined) {
    return /** @type {any} */ (process).getBuiltinModule?.('bun:jsc')?.drainMicrotasks;
  }
  return Deno === undefined ? ofNode() : Deno[Deno.internal]?.core?.runMicrotasks;
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
 * @returns {[unknown] | undefined} what a callback has thrown: an uncaught exception, which must be passed to the host before anything else is
 *   delivered
 */
function runMicrotasks() {
  if (typeof run !== 'function') return undefined;
  try {
    run();
    return undefined;
  } catch (error) {
    return [error];
  }
}

module.exports = { runMicrotasks };
