'use strict';
// Packs values of this host for isolates. Primitives stay as they are; everything else becomes a carrier that the native side can read.

const { types } = require('node:util');
const { kindOf, recordOf, releasedText, typeNameOf } = require('../../core/handle.js');
const { alone } = require('../../core/primordials.js');
const { CALLBACK, KIND, MESSAGE, OP, TAG, TRANSFER } = require('../../core/protocol.js');
const { CallbackRecord } = require('../../api/callback.js');
const { invalid, refused, released } = require('../../core/error.js');
const { faultOf, hidePaths } = require('../wire/faults.js');
const { codec } = require('./codec.js');
const { detailsOf } = require('./error-details.js');
const { adopt, discard, discardThrown, guard, ORIGIN, passOn } = require('../calls/host-calls.js');
const { take } = require('./moving.js');
const { isPrimitive, MIN_ONE_BYTE } = require('./primitive.js');
const { bytesOfWaiting, hasTime, isRefusal, postpone, timed } = require('../calls/replies.js');
const { checkShareable, keyOf } = require('./shared.js');
const { isDetached } = require('../wire/views.js');
const { MAX_OUTCOME } = require('../protocol.js');

/** Whether an object is copied, unless it is a handle. @param {number} bits of TRANSFER */
function isCopied(bits) {
  const type = bits & TRANSFER.TYPE_MASK;
  return type === TRANSFER.COPY || type === TRANSFER.EXTERNAL_COPY || (type !== TRANSFER.REFERENCE && (bits & TRANSFER.FALLBACK_MASK) === TRANSFER.OR_COPY);
}

/** What a function returned whose value is at the place for small values. */
const small = Object.seal({ __proto__: null, length: 0 });

/** @param {import('../wire/index.js').Serialized} serialized */
const wireOf = ({ bytes, table, isAlone }) => [TAG.WIRE, bytes, table, isAlone];

const NOT_AN_ERROR = faultOf({}, false);
/** Most bytes that one serialized value may take. */
const MAX_BYTES = 512 * 2 ** 20;

/** V8 knows at once that a string of one-byte characters has no match. */
const canSearch = process.versions.bun === undefined;

/**
 * Tells the native side if a long string has only characters below U+0100, which it would have to read in full to know.
 * @param {any} value
 */
const packPrimitive = (value) => (canSearch && typeof value === 'string' && value.length >= MIN_ONE_BYTE && codec().isOneByte(value) ? [TAG.ONE_BYTE, value] : value);

/**
 * The arguments of a function of another realm are cloned as one list, so the error for a symbol among them names the symbol.
 * @param {unknown} value
 */
function checkArgument(value) {
  if (typeof value === 'symbol') {
    throw refused(`${String(value)} could not be cloned.`);
  }
}

const { getOwnPropertyDescriptor } = Object;
const byteLengthOf = /** @type {(this: ArrayBuffer) => number} */ (
  getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get
);

const resizableOf = getOwnPropertyDescriptor(ArrayBuffer.prototype, 'resizable')?.get;
/** @param {ArrayBuffer} buffer */
const isResizable = (buffer) => resizableOf !== undefined && resizableOf.call(buffer) === true;

/**
 * @param {import('./owned.js').Table} owned
 * @param {object} native
 * @param {ArrayBuffer} native.outcome with room for small values
 * @param {(request: number, carrier: any) => void} native.reply sends the outcome of a promise of this side
 * @param {(request: number) => void} native.refuse sends an error: too many replies wait
 * @param {(request: number) => number} native.recipient the number of the isolate or process that waits for the reply
 * @param {(request: number) => number} native.maxAnswers bytes of answers that this receiver may have before it reads them; 0 if that is unknown
 * @param {(request: number) => boolean} native.isAwaited whether a recipient still waits for the reply
 */
function createPack(owned, { outcome, reply, refuse, recipient, maxAnswers, isAwaited }) {
  /** The place for small values. @type {ReturnType<ReturnType<typeof codec>['placeIn']> | undefined} */
  let place;
  // Promises of this side have negative numbers here, as those of the native side have there.
  let lastPromise = 0;

  /**
   * @param {unknown} value
   * @param {number} bits of TRANSFER, and OP.SHOWS_STACKS
   * @returns {any}
   */
  function pack(value, bits) {
    if ((bits & TRANSFER.ASKED_MASK) <= TRANSFER.COPY && isPrimitive(value)) {
      return packPrimitive(value);
    }
    if ((bits & TRANSFER.PROMISE) !== 0) {
      return promised(value, bits & ~TRANSFER.PROMISE);
    }
    switch (bits & TRANSFER.TYPE_MASK) {
      case TRANSFER.COPY:
        return packCopy(value, bits);
      case TRANSFER.EXTERNAL_COPY:
        return [TAG.COPY, packCopy(value, bits), 0];
      case TRANSFER.REFERENCE:
        return packReference(value, 0);
      default: {
        const carrier = typeof value === 'function' ? packFunction(new CallbackRecord(value, CALLBACK.SYNC)) : packHandle(value);
        return carrier === undefined ? packFallback(value, bits) : carrier;
      }
    }
  }

  /**
   * Packs an argument of a function of another realm. Arguments are copied.
   * @param {unknown} value
   */
  function packArgument(value) {
    checkArgument(value);
    return pack(value, TRANSFER.COPY);
  }

  /**
   * Packs a value that is neither a handle nor a function.
   * @param {unknown} value
   * @param {number} bits
   */
  function packFallback(value, bits) {
    switch (bits & TRANSFER.FALLBACK_MASK) {
      case TRANSFER.OR_UNDEFINED:
        return undefined;
      case TRANSFER.OR_REFERENCE:
        return packReference(value, bits & TRANSFER.UNSAFE_INHERIT);
      case TRANSFER.OR_COPY:
        return packClone(value, bits);
      default:
        throw refused(MESSAGE.NOT_TRANSFERABLE);
    }
  }

  /**
   * @param {unknown} value
   * @param {number} bits
   * @returns {any}
   */
  function packCopy(value, bits) {
    return packHandle(value) ?? packClone(value, bits);
  }

  /**
   * Packs a value that is no handle. Engines take as long to know that as to write a small value.
   * @param {unknown} value
   * @param {number} bits
   * @returns {any}
   */
  function packClone(value, bits) {
    if (isPrimitive(value)) {
      return packPrimitive(value);
    }
    if (typeof value === 'symbol') {
      throw refused(MESSAGE.UNSUPPORTED_TYPE);
    }
    const buffer = packBuffer(value);
    if (buffer !== undefined) return buffer;
    return wireOf(codec().serialize(value, (bits & OP.SHOWS_STACKS) === 0 ? hooks : showing));
  }

  /**
   * @param {any} value
   * @returns {any} undefined if it is no buffer, or a resizable one
   */
  function packBuffer(value) {
    if (!types.isAnyArrayBuffer(value)) return undefined;
    if (types.isSharedArrayBuffer(value)) return shared(value);
    return isResizable(value) ? undefined : [TAG.BUFFER, value, 0, byteLengthOf.call(value)];
  }

  /**
   * Packs what a function returned to a guest that waits on this thread.
   * @param {unknown} value
   * @param {number} bits
   * @returns {any} a carrier, or `small`
   */
  function packForWaiting(value, bits) {
    const isCloned = typeof value === 'object' && value !== null && (bits & TRANSFER.PROMISE) === 0
      && (bits & TRANSFER.TYPE_MASK) !== TRANSFER.EXTERNAL_COPY && isCopied(bits) && kindOf(value) === -1;
    if (!isCloned) return pack(value, bits);
    const buffer = packBuffer(value);
    if (buffer !== undefined) return buffer;
    place ??= codec().placeIn(outcome, MAX_OUTCOME);
    const written = codec().serializeAt(value, (bits & OP.SHOWS_STACKS) === 0 ? hooks : showing, place);
    if (typeof written !== 'number') return wireOf(written);
    small.length = written;
    return small;
  }

  /**
   * @param {unknown} value
   * @param {boolean} transferOut whether to move a buffer, or the buffer of a view
   * @param {ArrayLike<unknown> | undefined} transferList
   */
  function packMoving(value, transferOut, transferList) {
    const transfer = /** @type {ArrayBuffer[]} */ (transferList === undefined ? [] : Array.from(transferList));
    if (!transfer.every((buffer) => types.isArrayBuffer(buffer))) {
      throw invalid('Non-ArrayBuffer passed in `transferList`');
    }
    if (types.isArrayBuffer(value)) {
      const moves = (transferOut || transfer.includes(value)) && !isDetached(value);
      return moves ? take([value]).get(value) : packCopy(value, 0);
    }
    if (transferOut && ArrayBuffer.isView(value) && types.isArrayBuffer(value.buffer)) {
      transfer.push(value.buffer);
    }
    if (isPrimitive(value) || transfer.length === 0 || kindOf(value) !== -1) {
      return packCopy(value, 0);
    }
    const { bytes, table, isAlone } = codec().serialize(value, alone({ ...hooks, transfer }));
    // Listed buffers are transferred even if nothing in the value refers to them.
    const taken = take([...new Set(transfer)]);
    return [TAG.WIRE, bytes, table.map((/** @type {any} */ row) => (row[0] === TAG.MOVE ? taken.get(row[1]) : row)), isAlone];
  }

  /** @param {SharedArrayBuffer} buffer */
  function shared(buffer) {
    checkShareable(buffer);
    return [TAG.SHARED, new Uint8Array(buffer), keyOf(buffer), buffer];
  }

  /** @param {import('../../api/callback.js').Described} record */
  const packFunction = (record) => [TAG.FUNCTION, owned.offer(record.target), record.name, record.length, record.mode];

  /**
   * @param {unknown} value
   * @param {number} flags
   */
  function packReference(value, flags) {
    return [TAG.REFERENCE, owned.offer(value), typeNameOf(value), flags];
  }

  /**
   * @param {unknown} value
   * @returns {any} undefined if it is not a handle
   */
  function packHandle(value) {
    const kind = kindOf(value);
    if (kind === -1) {
      return undefined;
    }
    const record = recordOf(value, kind);
    switch (kind) {
      case KIND.REFERENCE:
        if (record.released) {
          throw released('Reference has been released');
        }
        return record.entry === undefined ? packReference(record.value, record.flags) : [TAG.HANDLE, record.entry.id];
      case KIND.CALLBACK:
        return packFunction(record);
      case KIND.DEREFERENCE:
        return packDereference(record);
      case KIND.COPY_INTO:
        return packCopyInto(record);
      case KIND.IVM:
        return [TAG.HANDLE, 0];
      case KIND.SESSION:
        throw refused(MESSAGE.NOT_TRANSFERABLE);
      case KIND.LIB:
        return [TAG.HANDLE, 1];
      default:
        if (record.entry === undefined) {
          throw released(releasedText(kind));
        }
        return [TAG.HANDLE, record.entry.id];
    }
  }

  /** @param {{ source?: any }} record */
  function packDereference(record) {
    const { source } = record;
    if (source === undefined) {
      throw released('The return value of `derefInto()` should only be used once');
    }
    record.source = undefined;
    if (source.local) {
      throw refused(MESSAGE.WRONG_ISOLATE);
    }
    return [TAG.DEREF, source.entry.id, source.entry];
  }

  /** @param {{ entry?: import('../../core/handle.js').Row, transferIn: boolean, checked?: boolean }} record */
  function packCopyInto(record) {
    const { entry } = record;
    if (entry === undefined) {
      throw released('The return value of `copyInto()` should only be used once');
    }
    record.entry = undefined;
    return [TAG.COPY_INTO, entry.id, record.transferIn, record.checked === true, entry];
  }

  /**
   * Announces a promise, and sends its outcome when it settles. Anything else, thenables included, counts as a promise that has already
   * settled, with what the value is now.
   * @param {unknown} value
   * @param {number} bits
   */
  function promised(value, bits) {
    if (!types.isPromise(value)) {
      return [TAG.PROMISE, 0, packOutcome(value, bits, ORIGIN.REFERENCE)];
    }
    const request = --lastPromise;
    answerWith(value, bits, request, ORIGIN.REFERENCE);
    return [TAG.PROMISE, request];
  }

  /**
   * Sends what a promise settles to, when this turn of the event loop or a later one has time. It never rejects.
   * @param {PromiseLike<unknown>} promise
   * @param {number} bits
   * @param {number} request
   * @param {string} origin of the promise
   * @param {(error: unknown) => unknown} [thrown] maps an error to what is sent
   */
  async function answerWith(promise, bits, request, origin, thrown) {
    /** @type {unknown} */
    let value;
    let send;
    let drop = () => {};
    try {
      value = await adopt(promise);
      send = () => sendReply(request, packOutcome(value, bits, origin, thrown));
      // A reference is small, and promises inside its target belong to the host.
      if (hasTime() || !(isPrimitive(value) || isCopied(bits))) {
        timed(send);
        return;
      }
      guard(origin, value);
      drop = () => discard(origin, value);
    } catch (error) {
      if (isRefusal(error)) {
        refuseReply(request);
        return;
      }
      if (hasTime()) {
        timed(() => sendReply(request, packThrown(error, bits, origin, thrown)));
        return;
      }
      discardThrown(origin, error);
      value = error;
      send = () => sendReply(request, packFault(error, bits, thrown));
    }
    let bytes;
    try {
      bytes = bytesOfWaiting(recipient(request), value, maxAnswers(request) || MAX_BYTES);
    } catch {
      refuseReply(request);
      return;
    }
    postpone(recipient(request), bytes, () => {
      if (isAwaited(request)) {
        send();
      } else {
        // The call was stopped, or its guest has ended.
        drop();
        sendReply(request, undefined);
      }
    });
  }

  /**
   * @param {unknown} value
   * @param {number} bits
   * @param {string} origin of the value
   * @param {(error: unknown) => unknown} [thrown] maps an error to what is sent
   */
  function packOutcome(value, bits, origin, thrown) {
    try {
      return packResult(value, bits, origin);
    } catch (error) {
      return packThrown(error, bits, origin, thrown);
    }
  }

  /**
   * @param {number} request
   * @param {any} carrier
   */
  function sendReply(request, carrier) {
    try {
      reply(request, carrier);
    } catch {
      // The environment has ended, and so has the call that waits.
    }
  }

  /** @param {number} request whose reply may not wait */
  function refuseReply(request) {
    try {
      refuse(request);
    } catch {
      // As in `sendReply`.
    }
  }

  /**
   * Packs what a function of this host returned, or what its promise resolved to. A promise is discarded unless the bits say that
   * the receiver can wait for it. Promises inside a value that cannot be packed are discarded, too.
   * @param {unknown} value
   * @param {number} bits
   * @param {string} origin of the function
   */
  function packResult(value, bits, origin) {
    return passOn(pack, value, bits, origin);
  }

  /**
   * The same for a guest that waits on this thread. The result may be `small`.
   * @param {unknown} value
   * @param {number} bits
   * @param {string} origin of the function
   */
  function packAnswer(value, bits, origin) {
    return passOn(packForWaiting, value, bits, origin);
  }

  /**
   * Packs what a function of this host has thrown, or its promise was rejected with. Promises inside it are discarded: errors are copied
   * without them.
   * @param {unknown} error
   * @param {number} bits
   * @param {string} origin of the function
   * @param {(error: unknown) => unknown} [map] maps the error to what is sent
   */
  function packThrown(error, bits, origin, map) {
    discardThrown(origin, error);
    return packFault(error, bits, map);
  }

  /**
   * Packs what was thrown, when promises inside it are handled.
   * @param {unknown} error
   * @param {number} bits
   * @param {(error: unknown) => unknown} [map] maps the error to what is sent
   */
  function packFault(error, bits, map) {
    const thrown = map === undefined ? error : map(error);
    if (isPrimitive(thrown)) {
      return [TAG.THROWN, thrown];
    }
    if (typeof thrown === 'symbol') {
      return NOT_AN_ERROR;
    }
    const showPaths = (bits & OP.SHOWS_STACKS) !== 0;
    return faultOf(/** @type {object} */ (thrown), showPaths, detailsOf(/** @type {object} */ (thrown), showPaths));
  }

  const showing = alone({ carrierOf: packHandle, shared, maxBytes: MAX_BYTES, lends: true });
  const hooks = alone({ ...showing, stack: hidePaths });

  return { answerWith, pack, packAnswer, packArgument, packMoving, packResult, packThrown, small };
}

module.exports = { checkArgument, createPack };
