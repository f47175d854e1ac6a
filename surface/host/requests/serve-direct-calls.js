'use strict';
// Calls of this host's functions by guests that run on its own thread, with small values. Everything else is a request (serve.js). Guests
// make many such calls in a row, so one loop serves them: the native side resumes the guest, and returns what it asks next.

const { kindOf, recordOf } = require('../../core/handle.js');
const { CALLBACK, KIND, OP, TAG, TRANSFER } = require('../../core/protocol.js');
const { discardArrived, expectArrival, ORIGIN } = require('../calls/host-calls.js');
const { isPrimitive } = require('../values/primitive.js');
const { DIRECT_CALL, WIRE } = require('../protocol.js');
const { arriving } = require('../wire/arriving.js');
const { isAnsweredLater } = require('./serve.js');

/** Instead of a carrier: nothing was called, and the call must be a request. */
const AGAIN = Object.freeze([TAG.AGAIN]);

/**
 * @param {object} host
 * @param {any} host.native
 * @param {import('../values/owned.js').Table} host.owned
 * @param {(value: unknown, bits: number, origin: string) => any} host.packAnswer
 * @param {{ readonly length: number }} host.small what that returns if the native side has the value already, with its length
 * @param {(error: unknown, bits: number, origin: string) => any} host.packThrown
 * @param {(carrier: any, method?: undefined, together?: import('../values/unpack.js').Together) => any} host.unpack
 * @param {(carrier: any) => void} host.skip
 */
function createServeDirectCalls({ native, owned, packAnswer, small, packThrown, unpack, skip }) {
  const { answer, answerBytes, answerSmall, answerText, directCall, directCallValue } = native;

  /**
   * @param {any} carrier
   * @param {import('../values/unpack.js').Together} [together]
   */
  const receive = (carrier, together) => (typeof carrier === 'object' && carrier !== null ? unpack(carrier, undefined, together) : carrier);

  /**
   * All arguments of the call.
   * @param {number} count of arguments
   * @param {unknown} first
   */
  function valuesOf(count, first) {
    if (count === 0) return [];
    const together = { work: undefined };
    if (count === 2) return [receive(first, together), receive(directCallValue(2), together)];
    const args = [receive(first, together)];
    for (let index = 2; index <= count; index += 1) {
      args.push(receive(directCallValue(index), together));
    }
    return args;
  }

  /** @param {unknown} first */
  function again(first) {
    skip(first);
    return AGAIN;
  }

  /**
   * @param {number} slot
   * @param {number} rest of what describes the call, see DIRECT_CALL
   * @param {unknown} first argument
   * @returns {any} the answer's carrier, or AGAIN
   */
  function serve(slot, rest, first) {
    let target = /** @type {any} */ (owned.value(slot));
    const isReference = (rest & OP.REFERENCE) !== 0;
    if (isReference ? kindOf(target) === KIND.CALLBACK : owned.note(slot) !== CALLBACK.SYNC) {
      if (!isReference) return again(first);
      target = recordOf(target, KIND.CALLBACK).target;
    }
    if (typeof target !== 'function' || isAnsweredLater(target)) return again(first);
    const origin = isReference ? ORIGIN.REFERENCE : ORIGIN.CALLBACK;
    const bits = isReference ? rest & IN_BITS : TRANSFER.OR_COPY | (rest & IN_BITS);
    const count = rest >>> COUNT_SHIFT;
    const outer = arriving.value;
    // As in `applyNoted`.
    let noted = outer;
    const entered = owned.enter();
    try {
      expectArrival(origin);
      const result = count === 1 && (rest & DIRECT_CALL.RECEIVER) === 0
        ? target(receive(first))
        : Reflect.apply(target, (rest & DIRECT_CALL.RECEIVER) === 0 ? undefined : directCallValue(0), valuesOf(count, first));
      if (arriving.value !== noted) discardArrived();
      if (typeof result === 'object') {
        noted = result;
        arriving.value = result;
      }
      const carrier = (bits & TRANSFER.ASKED_MASK) <= TRANSFER.COPY && isPrimitive(result) ? result : packAnswer(result, bits, origin);
      arriving.value = outer;
      return carrier;
    } catch (error) {
      if (arriving.value !== noted) discardArrived();
      if (typeof error === 'object') arriving.value = error;
      const carrier = packThrown(error, bits & OP.SHOWS_STACKS, origin);
      arriving.value = outer;
      return carrier;
    } finally {
      owned.leave(entered);
    }
  }

  /**
   * Serves a call, and those that follow.
   * @param {number} head what describes the call, see DIRECT_CALL
   * @param {unknown} first argument
   */
  return function serveDirectCalls(head, first) {
    do {
      const slot = Math.floor(head / DIRECT_CALL.SLOT);
      const rest = head - slot * DIRECT_CALL.SLOT;
      do {
        const result = serve(slot, rest, first);
        if (typeof result === 'string') first = answerText(result);
        else if (result === small) first = answerSmall(small.length);
        else first = isOnlyBytes(result) ? answerBytes(result[1]) : answer(result);
      } while (typeof first !== 'function');
      head = directCall();
      first = head < 0 ? undefined : directCallValue(1);
    } while (head >= 0);
  };
}

/**
 * Whether a carrier is a serialized value without a table, and the codec uses the memory of its bytes again.
 * @param {any} carrier
 */
const isOnlyBytes = (carrier) => typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.WIRE && carrier[WIRE.TABLE].length === 0 && !carrier[WIRE.IS_ALONE];

/** What `packResult` needs to know. */
const IN_BITS = ~OP.REFERENCE & (DIRECT_CALL.RECEIVER - 1);
const COUNT_SHIFT = Math.log2(DIRECT_CALL.COUNT);

module.exports = { createServeDirectCalls };
