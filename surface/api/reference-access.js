'use strict';
// The operations of a Reference. A Reference created here keeps its value in private state: if it is never sent, it costs the native side
// nothing and is collected like any object. A Reference that arrived refers to a row of the native table. Operations on a local value
// run in this realm, with the same rules as operations from outside.

const { apply, cutOff, Error, freeze, inner, sameValue } = require('../core/primordials.js');
const { APPLY_HEAD, INVOKE_HEAD, MESSAGE, MODE, OP, TRANSFER } = require('../core/protocol.js');
const { CODE, coded, invalid, released } = require('../core/error.js');
const {
  arrayArgument, booleanOption, objectOption, optionsArgument, readDeadline, readSignal, readTimeout, readTransfer,
} = require('../core/options.js');

/** The private state of a `Reference`. */
class ReferenceRecord {
  /**
   * @param {import('../core/handle.js').Row | undefined} entry the row of the native table; a value of this realm may have none
   * @param {boolean} local whether `value` is the referenced value, and one of this realm
   * @param {boolean} shared whether `value` is the referenced value, and one of another realm of this isolate. It crosses like values of
   *   other isolates, so that no realm gets objects of the other
   * @param {unknown} value
   * @param {string} typeOf
   * @param {number} flags TRANSFER.ACCESSORS and TRANSFER.UNSAFE_INHERIT
   */
  constructor(entry, local, shared, value, typeOf, flags) {
    this.entry = entry;
    this.local = local;
    this.shared = shared;
    this.value = value;
    this.typeOf = typeOf;
    this.flags = flags;
    this.released = false;
  }
}
cutOff(ReferenceRecord);

/** @typedef {ReferenceRecord} Target */

/** @param {ReferenceRecord} record */
function checkLive(record) {
  if (record.released) {
    throw released('Reference has been released');
  }
}

/**
 * A property name, or a number that is an unsigned 32-bit integer.
 * @param {unknown} key
 */
const isKey = (key) => typeof key === 'string' || (typeof key === 'number' && sameValue(key >>> 0, key));

/** @param {import('../index.js').Core} core */
function createAccess(core) {
  const { binding } = core;
  const { invoke, invokeSync, local, pack, unpack } = binding;

  /**
   * @param {ReferenceRecord} record
   * @returns {number}
   */
  const idOf = (record) => /** @type {import('../core/handle.js').Row} */ (record.entry).id;

  /**
   * Runs an operation on a value of this realm in the given mode. Asynchronous ones start after the caller's code.
   * @param {number} mode
   * @param {() => unknown} operation
   */
  function perform(mode, operation) {
    if (mode === MODE.SYNC) {
      return operation();
    }
    const promise = later(operation);
    if (mode === MODE.ASYNC) {
      return promise;
    }
    swallow(promise);
    return undefined;
  }

  /**
   * @param {number} op
   * @param {ReferenceRecord} record
   * @param {number} mode
   * @param {Function} method
   * @param {any} options undefined for none
   * @param {unknown} [first]
   * @param {unknown} [second]
   */
  function send(op, record, mode, method, options, first, second) {
    if (options === undefined) {
      const call = core.begin(mode, method);
      return core.conclude(mode, call, invoke(op, mode, call === undefined ? 0 : call.request, idOf(record), first, second), method);
    }
    let timeout;
    let deadline;
    let signal;
    try {
      timeout = readTimeout(options);
      deadline = readDeadline(options);
      signal = readSignal(options, mode, binding.signals);
      // A getter of the options may have released the Reference.
      checkLive(record);
    } catch (error) {
      return core.refuse(mode, error);
    }
    const call = core.begin(mode, method, signal);
    const request = call === undefined ? 0 : call.request;
    return core.conclude(mode, call, invoke(op, mode, request, idOf(record), first, second, timeout, deadline), method);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {unknown} key
   */
  function checkAccess(record, key) {
    checkLive(record);
    if (!isKey(key)) {
      throw invalid(MESSAGE.INVALID_KEY);
    }
    if (record.typeOf !== 'object') {
      throw invalid(MESSAGE.NOT_AN_OBJECT);
    }
  }

  /**
   * @param {ReferenceRecord} record
   * @param {any} key
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   */
  function get(record, key, options, mode, method) {
    let bits = TRANSFER.OR_REFERENCE | record.flags;
    try {
      checkAccess(record, key);
      if (options !== undefined) {
        bits = readTransfer(options, bits);
        if (booleanOption(options.accessors, 'accessors')) {
          bits |= TRANSFER.ACCESSORS;
        }
      }
      if (record.local) {
        return getLocal(record.value, key, bits, mode);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    return send(OP.REF_GET, record, mode, method, options, key, bits);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {any} key
   * @param {unknown} value
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   */
  function set(record, key, value, options, mode, method) {
    let carrier;
    try {
      checkAccess(record, key);
      const bits = readTransfer(options, TRANSFER.OR_THROW);
      if (record.local) {
        return setLocal(record.value, key, local.cross(value, bits), mode);
      }
      carrier = pack(value, bits);
    } catch (error) {
      return core.refuse(mode, error);
    }
    return send(OP.REF_SET, record, mode, method, options, key, carrier);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {any} key
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   */
  function remove(record, key, options, mode, method) {
    try {
      checkAccess(record, key);
      if (record.local) {
        return removeLocal(record.value, key, mode);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    return send(OP.REF_DELETE, record, mode, method, options, key);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   */
  function copy(record, options, mode, method) {
    try {
      checkLive(record);
      if (record.local) {
        return copyLocal(record.value, mode);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    return send(OP.REF_COPY, record, mode, method, options);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {unknown} receiver
   * @param {any} list
   * @param {any} options
   * @param {number} op OP.REF_APPLY or OP.REF_APPLY_SYNC_PROMISE
   * @param {number} mode
   * @param {Function} method
   * @param {{ stack?: unknown }} [site] of an asynchronous call, see `callSite`
   */
  function applyTo(record, receiver, list, options, op, mode, method, site) {
    list = arrayArgument(list, 2);
    options = optionsArgument(options, 3);
    /** @type {number} */
    let bits = TRANSFER.OR_REFERENCE;
    /** @type {number} */
    let argumentBits = TRANSFER.OR_THROW;
    let timeout = 0;
    let deadline = 0;
    let signal;
    let size = 0;
    /** @type {any} the arguments, if there are more than `FEW` or the Reference is local */
    let carriers;
    let self;
    let first;
    let second;
    let third;
    try {
      checkLive(record);
      const transfer = record.local ? local.cross : pack;
      // Transfer options never apply to the receiver.
      self = receiver === undefined ? undefined : transfer(receiver, TRANSFER.OR_THROW);
      if (options !== undefined) {
        timeout = readTimeout(options);
        deadline = readDeadline(options);
        argumentBits = readTransfer(objectOption(options.arguments, 'arguments'), TRANSFER.OR_THROW);
        bits = readTransfer(objectOption(options.result, 'result'), TRANSFER.OR_REFERENCE);
        signal = readSignal(options, mode, binding.signals);
      }
      if (op === OP.REF_APPLY_SYNC_PROMISE) {
        checkSyncPromise(record, bits);
      }
      if (list !== undefined) {
        size = list.length;
        if (size > FEW || record.local) {
          carriers = transferAll(transfer, list, size, argumentBits, HEAD);
        } else {
          first = size > 0 ? pack(list[0], argumentBits) : undefined;
          second = size > 1 ? pack(list[1], argumentBits) : undefined;
          third = size > 2 ? pack(list[2], argumentBits) : undefined;
        }
      }
      if (record.local) {
        return applyLocal(record.value, self, carriers, bits, mode, timeout, deadline);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    const sync = mode === MODE.SYNC;
    const call = sync ? undefined : core.begin(mode, method, signal, site);
    const request = call === undefined ? 0 : call.request;
    const id = idOf(record);
    let carrier;
    // Written out for common numbers of arguments.
    const start = sync ? invokeSync : invoke;
    switch (size) {
      case 0:
        carrier = options === undefined && self === undefined
          ? start(op, mode, request, id, bits)
          : start(op, mode, request, id, bits, timeout, deadline, self);
        break;
      case 1:
        carrier = start(op, mode, request, id, bits, timeout, deadline, self, first);
        break;
      case 2:
        carrier = start(op, mode, request, id, bits, timeout, deadline, self, first, second);
        break;
      case 3:
        carrier = start(op, mode, request, id, bits, timeout, deadline, self, first, second, third);
        break;
      default:
        carriers[0] = op;
        carriers[1] = mode;
        carriers[2] = request;
        carriers[3] = id;
        carriers[4] = bits;
        carriers[5] = timeout;
        carriers[6] = deadline;
        carriers[7] = self;
        carrier = apply(invoke, undefined, carriers);
    }
    return sync ? unpack(carrier, method) : core.conclude(mode, call, carrier, method);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {number} bits of the result
   */
  function checkSyncPromise(record, bits) {
    if (record.local || record.shared || binding.side === 'host') {
      throw coded(Error, MESSAGE.FROM_DEFAULT_THREAD, CODE.UNSUPPORTED);
    }
    if (bits !== TRANSFER.OR_REFERENCE) {
      throw invalid('`result` options are not available for `applySyncPromise`');
    }
  }

  // Separate functions: in their callers, the closures would cost time even if they are not created.

  /**
   * @param {any} target
   * @param {string | number} key
   * @param {number} bits
   * @param {number} mode
   */
  const getLocal = (target, key, bits, mode) => perform(mode, () => local.get(target, key, bits));

  /**
   * @param {any} target
   * @param {string | number} key
   * @param {unknown} value
   * @param {number} mode
   */
  const setLocal = (target, key, value, mode) => perform(mode, () => local.set(target, key, value));

  /**
   * @param {any} target
   * @param {string | number} key
   * @param {number} mode
   */
  const removeLocal = (target, key, mode) => perform(mode, () => local.delete(target, key));

  /**
   * @param {any} value
   * @param {number} mode
   */
  const copyLocal = (value, mode) => perform(mode, () => local.cross(value, TRANSFER.COPY));

  /**
   * @param {any} target
   * @param {unknown} self
   * @param {any} args from `transferAll`, or undefined
   * @param {number} bits
   * @param {number} mode
   * @param {number} timeout
   * @param {number} deadline
   */
  const applyLocal = (target, self, args, bits, mode, timeout, deadline) =>
    perform(mode, () => local.apply(target, self, args, bits, mode === MODE.IGNORED, timeout, deadline));

  return freeze({ applyTo, copy, get, remove, set });
}

/** Up to this many arguments, no list of parameters is created. */
const FEW = 3;

/** The number of parameters of `invoke` before the arguments of an application. */
const HEAD = INVOKE_HEAD + APPLY_HEAD;

/**
 * The most arguments of a call. Engines have room for some hundred thousand on a stack. A list may have holes that take no memory, and so be of any
 * length.
 */
const MAX_ARGUMENTS = 1_000_000;

/**
 * Packs a list of values. The result leaves room at its start for the other parameters of a call. It has no prototype, so that no setter
 * on `Array.prototype` runs.
 * @param {(value: unknown, bits: number) => unknown} transfer
 * @param {ArrayLike<unknown>} list
 * @param {number} size
 * @param {number} bits
 * @param {number} head
 * @returns {any} an array-like
 */
function transferAll(transfer, list, size, bits, head) {
  if (size > MAX_ARGUMENTS) {
    throw coded(/** @type {ErrorConstructor} */ (RangeError), `A call has more than ${MAX_ARGUMENTS} arguments`, CODE.LIMIT);
  }
  /** @type {any} */
  const carriers = { __proto__: null, length: head + size };
  for (let index = 0; index < size; index += 1) {
    carriers[head + index] = transfer(list[index], bits);
  }
  return carriers;
}

/** @param {() => unknown} operation */
async function later(operation) {
  await undefined;
  return operation();
}

/** @param {Promise<unknown>} promise */
async function swallow(promise) {
  try {
    await inner(promise);
  } catch {
    // The outcome is ignored.
  }
}

module.exports = freeze({ checkLive, createAccess, FEW, ReferenceRecord, transferAll });
