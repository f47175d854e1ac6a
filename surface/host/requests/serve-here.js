'use strict';
// Calls of this host's functions by guests that run on its own thread, with primitives only. Everything else is a request (serve.js). Guests
// make many such calls in a row, so one loop serves them: the native side resumes the guest, and returns what it asks next.

const { kindOf, recordOf } = require('../../core/handle.js');
const { CALLBACK, KIND, OP, TAG, TRANSFER } = require('../../core/protocol.js');
const { ORIGIN } = require('../calls/host-calls.js');
const { isPrimitive } = require('../values/primitive.js');
const { ASKED } = require('../protocol.js');
const { isAnsweredLater } = require('./serve.js');

/** Instead of a carrier: nothing was called, and the call must be a request. */
const AGAIN = Object.freeze([TAG.AGAIN]);

/**
 * @param {object} host
 * @param {any} host.native
 * @param {import('../values/owned.js').Table} host.owned
 * @param {(value: unknown, bits: number, origin: string) => any} host.packResult
 * @param {(error: unknown, bits: number, origin: string) => any} host.packThrown
 */
function createServeHere({ native, owned, packResult, packThrown }) {
  const { answer, answerText, asked, askedValue } = native;

  /**
   * The receiver and all arguments of the call.
   * @param {number} count of arguments
   * @param {unknown} first
   */
  function valuesOf(count, first) {
    const args = count === 0 ? [] : [first];
    for (let index = 2; index <= count; index += 1) {
      args.push(askedValue(index));
    }
    return args;
  }

  /**
   * @param {number} slot
   * @param {number} rest of what describes the call, see ASKED
   * @param {unknown} first argument
   * @returns {any} the answer's carrier, or AGAIN
   */
  function serve(slot, rest, first) {
    let target = /** @type {any} */ (owned.value(slot));
    const isReference = (rest & OP.REFERENCE) !== 0;
    if (isReference ? kindOf(target) === KIND.CALLBACK : owned.note(slot) !== CALLBACK.SYNC) {
      if (!isReference) return AGAIN;
      target = recordOf(target, KIND.CALLBACK).target;
    }
    if (typeof target !== 'function' || isAnsweredLater(target)) return AGAIN;
    const origin = isReference ? ORIGIN.REFERENCE : ORIGIN.CALLBACK;
    const bits = isReference ? rest & IN_BITS : TRANSFER.OR_COPY | (rest & IN_BITS);
    const count = rest >>> COUNT_SHIFT;
    const entered = owned.enter();
    try {
      const result = count === 1 && (rest & ASKED.RECEIVER) === 0
        ? target(first)
        : Reflect.apply(target, (rest & ASKED.RECEIVER) === 0 ? undefined : askedValue(0), valuesOf(count, first));
      return (bits & TRANSFER.ASKED_MASK) <= TRANSFER.COPY && isPrimitive(result) ? result : packResult(result, bits, origin);
    } catch (error) {
      return packThrown(error, bits & OP.SHOWS_STACKS, origin);
    } finally {
      owned.leave(entered);
    }
  }

  /**
   * Serves a call, and those that follow.
   * @param {number} head what describes the call, see ASKED
   * @param {unknown} first argument
   */
  return function serveHere(head, first) {
    do {
      const slot = Math.floor(head / ASKED.SLOT);
      const rest = head - slot * ASKED.SLOT;
      do {
        const result = serve(slot, rest, first);
        first = typeof result === 'string' ? answerText(result) : answer(result);
      } while (typeof first !== 'function');
      head = asked();
      first = head < 0 ? undefined : askedValue(1);
    } while (head >= 0);
  };
}

/** What `packResult` needs to know. */
const IN_BITS = ~OP.REFERENCE & (ASKED.RECEIVER - 1);
const COUNT_SHIFT = Math.log2(ASKED.COUNT);

module.exports = { createServeHere };
