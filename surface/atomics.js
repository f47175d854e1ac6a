'use strict';
// `Atomics.wait` of a guest. The host is another engine: its `Atomics.notify` does not know who waits here. So a wait is
// many short ones, and the memory is looked at in between. Whoever stores before notifying, as all do, is heard.

const { apply, asIntN, define, getOwnPropertyDescriptor, getPrototypeOf, now, Symbol, uncurryThis } = require('./primordials.js');

const typeName = uncurryThis(/** @type {any} */ (
  getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
).get);

/** Milliseconds that the waits last: the first is short for quick answers, the longest costs next to no processor time. */
const FIRST_SLICE = 0.02;
const LONGEST_SLICE = 1;
const GROWTH = 1.5;

/** @param {{ wait: (typedArray: any, index: number, value: any, timeout?: number) => string }} atomics of this realm */
function divideWaits(atomics) {
  const original = atomics.wait;

  const { wait } = {
    /**
     * @param {any} typedArray
     * @param {any} index
     * @param {any} value
     * @param {any} timeout
     */
    wait(typedArray, index, value, timeout) {
      const name = typeName(typedArray);
      if (name !== 'Int32Array' && name !== 'BigInt64Array') {
        // Throws what fits.
        return apply(original, atomics, [typedArray, index, value, timeout]);
      }
      // Once and in the specified order: a conversion may run code.
      index = +index;
      value = name === 'Int32Array' ? value | 0 : asIntN(64, value);
      timeout = timeout === undefined ? Infinity : +timeout;
      const end = timeout === timeout ? now() + timeout : Infinity;
      let slice = FIRST_SLICE;
      let outcome = original(typedArray, index, value, timeout < slice ? timeout : slice);
      while (outcome === 'timed-out') {
        const left = end - now();
        if (left <= 0) {
          return outcome;
        }
        slice = slice * GROWTH < LONGEST_SLICE ? slice * GROWTH : LONGEST_SLICE;
        outcome = original(typedArray, index, value, left < slice ? left : slice);
        if (outcome === 'not-equal') {
          return 'ok';
        }
      }
      return outcome;
    },
  };
  define(atomics, 'wait', wait, true, false);
}

module.exports = divideWaits;
