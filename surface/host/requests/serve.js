'use strict';
// Serves requests of guests for values of this host: operations on References, and on functions that were sent to guests. Answers are
// carriers; `serve` never throws.

const { types } = require('node:util');
const { kindOf, recordOf } = require('../../core/handle.js');
const { CALLBACK, KIND, MESSAGE, OP, TAG, TRANSFER } = require('../../core/protocol.js');
const { CODE, coded, invalid } = require('../../core/error.js');
const { thrownText } = require('../wire/faults.js');
const { describeWithoutSource } = require('../wire/refusal.js');
const { arriving, NOTHING } = require('../wire/arriving.js');
const { applyNoted, discardUnwritten, expectArrival, isThenable, notify, ORIGIN } = require('../calls/host-calls.js');
const { read, remove, write } = require('../values/reflect.js');

/**
 * @param {object} host
 * @param {import('../values/owned.js').Table} host.owned
 * @param {(request: number, carrier: any) => void} host.reply
 * @param {(value: unknown, bits: number) => any} host.pack
 * @param {(value: unknown, bits: number, origin: string) => any} host.packResult
 * @param {(error: unknown, bits: number, origin: string, map?: (error: unknown) => unknown) => any} host.packThrown
 * @param {(promise: PromiseLike<unknown>, bits: number, request: number, origin: string, thrown?: (error: unknown) => unknown) => Promise<void>} host.answerWith
 * @param {(carrier: any, method: undefined, together: import('../values/unpack.js').Together) => any} host.unpack
 * @param {(carriers: any[]) => void} host.release releases what is in carriers that are not read
 */
function createServe({ owned, reply, pack, packResult, packThrown, answerWith, unpack, release }) {
  /**
   * @param {number} request
   * @param {number} asked an operation, optionally with OP.SHOWS_STACKS and OP.DISCARDED
   * @param {number} slot
   * @param {any[]} args
   * @returns {any} the answer's carrier; undefined if `reply` is called with it, now or later
   */
  function serve(request, asked, slot, ...args) {
    const shows = asked & OP.SHOWS_STACKS;
    const discarded = (asked & OP.DISCARDED) !== 0;
    const op = asked & ~(OP.SHOWS_STACKS | OP.DISCARDED);
    const origin = op === OP.CALL || op === OP.CALL_AWAITED ? ORIGIN.CALLBACK : ORIGIN.REFERENCE;
    const outer = arriving.value;
    const entered = owned.enter();
    try {
      // Copying calls getters, whatever the operation is.
      arriving.value = null;
      expectArrival(origin);
      const carrier = answer(request, op, slot, args, shows, discarded);
      arriving.value = outer;
      arriving.part = undefined;
      arriving.unwritten = undefined;
      if (carrier === LATER) {
        return undefined;
      }
      if (carrier === undefined) {
        reply(request, undefined);
      }
      return carrier;
    } catch (error) {
      if (typeof error === 'object') arriving.value = error;
      discardUnwritten(origin);
      release(args);
      const carrier = packThrown(error, shows, origin, op === OP.CALL_AWAITED ? errorFor : undefined);
      arriving.value = outer;
      arriving.part = undefined;
      return carrier;
    } finally {
      owned.leave(entered);
    }
  }

  /**
   * @param {number} request
   * @param {number} op
   * @param {number} slot
   * @param {any[]} args
   * @param {number} shows OP.SHOWS_STACKS or 0
   * @param {boolean} discarded whether the answer has no receiver
   */
  function answer(request, op, slot, args, shows, discarded) {
    switch (op) {
      case OP.CALL:
        return call(request, slot, args, false, shows, discarded);
      case OP.CALL_AWAITED:
        return call(request, slot, args, true, shows, discarded);
      case OP.REF_APPLY: {
        const { target, receiver, list } = application(slot, args);
        if (discarded) {
          notify(ORIGIN.REFERENCE, target, receiver, list);
          return undefined;
        }
        return packResult(applyNoted(null, target, receiver, list), (args[0] & ~OP.SHOWS_STACKS) | shows, ORIGIN.REFERENCE);
      }
      case OP.REF_APPLY_SYNC_PROMISE:
        return applyAndWait(request, slot, args, shows);
      case OP.REF_GET: {
        const bits = (args[1] & ~OP.SHOWS_STACKS) | (owned.note(slot) & TRANSFER.UNSAFE_INHERIT) | shows;
        const value = applyNoted(null, read, undefined, [owned.value(slot), args[0], bits]);
        // A getter is a call. The value of a data property belongs to the host, but not what getters create while it is copied.
        if ((bits & TRANSFER.ACCESSORS) === 0) {
          arriving.unwritten = NOTHING;
          return pack(value, bits);
        }
        return packResult(value, bits, ORIGIN.REFERENCE);
      }
      case OP.REF_SET:
        return write(owned.value(slot), args[0], () => take(args, 1, { work: undefined }));
      case OP.REF_DELETE:
        return remove(owned.value(slot), args[0]);
      case OP.REF_COPY:
        return packResult(owned.value(slot), TRANSFER.COPY | shows, ORIGIN.REFERENCE);
      case OP.REF_RELEASE:
        owned.sweep();
        return LATER;
      default:
        throw coded(Error, `Operation ${op} is not served by hosts`, CODE.UNSUPPORTED);
    }
  }

  /**
   * Unpacks an argument. Those that are left in `args` were not read.
   * @param {any[]} args
   * @param {number} index
   * @param {import('../values/unpack.js').Together} together
   */
  function take(args, index, together) {
    const carrier = args[index];
    args[index] = undefined;
    return unpack(carrier, undefined, together);
  }

  /**
   * @param {any[]} args
   * @param {number} first
   * @param {import('../values/unpack.js').Together} together
   */
  function takeAll(args, first, together) {
    const values = [];
    for (let index = first; index < args.length; index += 1) {
      values.push(take(args, index, together));
    }
    return values;
  }

  /**
   * @param {number} request
   * @param {number} slot
   * @param {any[]} args
   * @param {boolean} awaited whether the caller waits for the promise that the function returns
   * @param {number} shows
   * @param {boolean} discarded
   */
  function call(request, slot, args, awaited, shows, discarded) {
    const target = /** @type {Function} */ (owned.value(slot));
    const mode = owned.note(slot);
    const values = takeAll(args, 0, { work: undefined });
    const isIgnored = discarded || mode === CALLBACK.IGNORED;
    if (isIgnored && !answeringLater.has(target)) {
      notify(ORIGIN.CALLBACK, target, undefined, values);
      return undefined;
    }
    const result = applyNoted(null, target, undefined, values);
    if (awaited ? isThenable(result) : types.isPromise(result) && answeringLater.has(target)) {
      answerWith(result, TRANSFER.OR_COPY | shows, request, ORIGIN.CALLBACK, errorFor);
      return LATER;
    }
    return isIgnored ? undefined : packResult(result, TRANSFER.OR_COPY | shows, ORIGIN.CALLBACK);
  }

  /**
   * @param {number} slot
   * @param {any[]} args bits, timeout, deadline, receiver, arguments
   * @returns {{ target: Function, receiver: unknown, list: unknown[] }}
   */
  function application(slot, args) {
    const value = owned.value(slot);
    const target = kindOf(value) === KIND.CALLBACK ? recordOf(value, KIND.CALLBACK).target : value;
    if (typeof target !== 'function') {
      throw invalid(MESSAGE.NOT_A_FUNCTION);
    }
    const together = { work: undefined };
    return { target, receiver: take(args, 3, together), list: takeAll(args, 4, together) };
  }

  /**
   * Blocks the guest's thread until the promise that the function returned settles. The promise must settle to a transferable value.
   * Any other result becomes a Reference if it is not transferable.
   * @param {number} request
   * @param {number} slot
   * @param {any[]} args
   * @param {number} shows
   */
  function applyAndWait(request, slot, args, shows) {
    const { target, receiver, list } = application(slot, args);
    const result = applyNoted(null, target, receiver, list);
    if (!types.isPromise(result)) return packResult(result, TRANSFER.OR_REFERENCE | shows, ORIGIN.REFERENCE);
    answerWith(result, TRANSFER.OR_THROW | shows, request, ORIGIN.REFERENCE);
    return LATER;
  }

  return serve;
}

/**
 * What a sandbox's guest sees of a thrown value: always an error.
 * @param {unknown} thrown
 */
function errorFor(thrown) {
  if (typeof thrown === 'object' && thrown !== null) {
    return thrown;
  }
  return new Error(typeof thrown === 'function' ? describeWithoutSource(thrown) : thrownText(thrown));
}

/** @type {WeakSet<Function>} */
const answeringLater = new WeakSet();
/** Whether the set has had a function. Programs without sandboxes need not look there. */
let isAnyAnsweredLater = false;

/**
 * From now on, if this function returns a promise, its callers get what the promise settles to. Use it for functions of this library only.
 * Such a function does not throw if its result is ignored.
 * @param {Function} target
 */
const answerLater = (target) => {
  isAnyAnsweredLater = true;
  answeringLater.add(target);
};

/** @param {Function} target */
const isAnsweredLater = (target) => isAnyAnsweredLater && answeringLater.has(target);

/** Returned instead of a carrier: the answer comes later, or is not wanted. */
const LATER = Object.freeze([TAG.PROMISE]);

module.exports = { answerLater, createServe, isAnsweredLater };
