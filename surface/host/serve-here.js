'use strict';
// Calls of this host's functions by guests that run on its own thread, with primitives only. Everything else is a request (serve.js).

const { kindOf, recordOf } = require('../core/handle.js');
const { CALLBACK, KIND, OP, TAG, TRANSFER } = require('../core/protocol.js');
const { ORIGIN } = require('./host-calls.js');
const { isPrimitive } = require('./primitive.js');
const { isAnsweredLater } = require('./serve.js');

/** Returned instead of a carrier: nothing was called, and the call must be a request. */
const AGAIN = Object.freeze([TAG.AGAIN]);

/**
 * @param {object} host
 * @param {import('./owned.js').Table} host.owned
 * @param {(value: unknown, bits: number, origin: string) => any} host.packResult
 * @param {(error: unknown, bits: number, origin: string) => any} host.packThrown
 */
function createServeHere({ owned, packResult, packThrown }) {
  /**
   * @param {number} slot
   * @param {number} asked OP.SHOWS_STACKS, and for a Reference OP.REFERENCE and bits of TRANSFER
   * @param {unknown} receiver
   * @param {any[]} args
   * @returns {any} the answer's carrier, or AGAIN. Does not throw
   */
  return function serveHere(slot, asked, receiver, args) {
    let target = /** @type {any} */ (owned.value(slot));
    const isReference = (asked & OP.REFERENCE) !== 0;
    if (isReference ? kindOf(target) === KIND.CALLBACK : owned.note(slot) !== CALLBACK.SYNC) {
      if (!isReference) return AGAIN;
      target = recordOf(target, KIND.CALLBACK).target;
    }
    if (typeof target !== 'function' || isAnsweredLater(target)) return AGAIN;
    const origin = isReference ? ORIGIN.REFERENCE : ORIGIN.CALLBACK;
    const bits = isReference ? asked & ~OP.REFERENCE : TRANSFER.OR_COPY | asked;
    const entered = owned.enter();
    try {
      const result = args.length === 1 && receiver === undefined ? target(args[0]) : Reflect.apply(target, receiver, args);
      return (bits & TRANSFER.ASKED_MASK) <= TRANSFER.COPY && isPrimitive(result) ? result : packResult(result, bits, origin);
    } catch (error) {
      return packThrown(error, bits & OP.SHOWS_STACKS, origin);
    } finally {
      owned.leave(entered);
    }
  };
}

module.exports = { createServeHere };
