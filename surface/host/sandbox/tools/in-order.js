'use strict';
// Work for calls of tools that keeps much memory until it is done. A guest can make any number of calls at a time, so what takes long is done for
// one call of an execution after the other.

/** What was begun last for each execution. @type {WeakMap<object, Promise<unknown>>} */
const last = new WeakMap();

/**
 * Does work when all work that was begun before for the same execution is done.
 * @template T
 * @param {object} execution
 * @param {(hasWaited: boolean) => Promise<T>} work
 * @returns {Promise<T>}
 */
function inOrder(execution, work) {
  const waiting = () => work(true);
  const own = last.get(execution)?.then(waiting, waiting) ?? work(false);
  const forget = () => {
    if (last.get(execution) === own) {
      last.delete(execution);
    }
  };
  last.set(execution, own);
  own.then(forget, forget);
  return own;
}

module.exports = { inOrder };
