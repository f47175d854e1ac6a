'use strict';
// `Atomics.wait` of a guest. The host is a different engine, so its `Atomics.notify` does not wake waiters here. One wait is therefore
// divided into many short ones that check the memory in between. A host that stores before it notifies, as is usual, is always noticed.

const { asIntN, create, define, getOwnPropertyDescriptor, getPrototypeOf, now, Symbol, uncurryThis } = require('./core/primordials.js');

const typeName = uncurryThis(/** @type {any} */ (
  getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
).get);

/** Durations of the short waits in milliseconds: the first is short for quick answers, the longest uses almost no processor time. */
const FIRST_SLICE = 0.02;
const MAX_SLICE = 1;
const GROWTH = 1.5;
/** The clock truncates to whole milliseconds. A wait must not end too early. */
const CLOCK_STEP = 1;

/**
 * An object whose conversion to a primitive calls `convert`, when V8 needs the value.
 * @param {() => unknown} convert
 */
function lazily(convert) {
  const object = create(null);
  define(object, 'valueOf', convert, true, false);
  return object;
}

/** @param {{ wait: (typedArray: any, index: any, value: any, timeout?: any) => string }} atomics of this realm */
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
      const isBig = typeName(typedArray) === 'BigInt64Array';
      let slice = FIRST_SLICE;
      let end = Infinity;
      // V8 validates the array first, then converts the arguments in order. A conversion may run guest code, so each runs once.
      let outcome = original(
        typedArray,
        lazily(() => (index = +index)),
        lazily(() => (value = isBig ? asIntN(64, value) : value | 0)),
        lazily(() => {
          timeout = timeout === undefined ? Infinity : +timeout;
          if (timeout === timeout) {
            end = now() + timeout + CLOCK_STEP;
          }
          return timeout < slice ? timeout : slice;
        }),
      );
      if (timeout <= slice) {
        return outcome;
      }
      while (outcome === 'timed-out') {
        const left = end - now();
        if (left <= 0) {
          return outcome;
        }
        slice = slice * GROWTH < MAX_SLICE ? slice * GROWTH : MAX_SLICE;
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
