'use strict';
// What a Reference can do. A Reference made here keeps its value in private state, so that one which is never sent anywhere
// costs the native side nothing and is collected as any object; one that came from elsewhere names a row of the native
// table. Operations on a local value run in this realm, with the same rules as if they had come from outside.

const { apply, Error, freeze, sameValue } = require('./primordials.js');
const { MODE, OP, TRANSFER } = require('./protocol.js');
const { CODE, coded, invalid, released } = require('./error.js');
const { arrayArgument, optionsArgument, readBoolean, readDeadline, readObject, readTimeout, readTransfer } = require('./options.js');

/** What a `Reference` instance hides. */
class ReferenceRecord {
  /**
   * @param {import('./handle.js').Row | undefined} entry the row of the native table; a value of this realm may have none
   * @param {boolean} local whether `value` is the referenced value
   * @param {unknown} value
   * @param {string} typeOf
   * @param {number} flags TRANSFER.ACCESSORS and TRANSFER.UNSAFE_INHERIT
   */
  constructor(entry, local, value, typeOf, flags) {
    this.entry = entry;
    this.local = local;
    this.value = value;
    this.typeOf = typeOf;
    this.flags = flags;
    this.released = false;
  }
}

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

/** @param {import('./index.js').Core} core */
function createAccess(core) {
  const { binding } = core;
  const { invoke, local, pack } = binding;

  /**
   * @param {ReferenceRecord} record
   * @returns {number}
   */
  const idOf = (record) => /** @type {import('./handle.js').Row} */ (record.entry).id;

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
   * @param {unknown} [first]
   * @param {unknown} [second]
   */
  function send(op, record, mode, method, first, second) {
    const call = core.begin(mode, method);
    return core.conclude(mode, call, invoke(op, mode, call === undefined ? 0 : call.request, idOf(record), first, second), method);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {unknown} key
   */
  function checkAccess(record, key) {
    checkLive(record);
    if (!isKey(key)) {
      throw invalid('Invalid `key`');
    }
    if (record.typeOf !== 'object') {
      throw invalid('Reference is not an object');
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
        if (readBoolean(options, 'accessors')) {
          bits |= TRANSFER.ACCESSORS;
        }
      }
      if (record.local) {
        const value = record.value;
        return perform(mode, () => local.get(value, key, bits));
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    return send(OP.REF_GET, record, mode, method, key, bits);
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
        const target = record.value;
        const arrived = local.cross(value, bits);
        return perform(mode, () => local.set(target, key, arrived));
      }
      carrier = pack(value, bits);
    } catch (error) {
      return core.refuse(mode, error);
    }
    return send(OP.REF_SET, record, mode, method, key, carrier);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {any} key
   * @param {number} mode
   * @param {Function} method
   */
  function remove(record, key, mode, method) {
    try {
      checkAccess(record, key);
      if (record.local) {
        const target = record.value;
        return perform(mode, () => local.delete(target, key));
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    return send(OP.REF_DELETE, record, mode, method, key);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {number} mode
   * @param {Function} method
   */
  function copy(record, mode, method) {
    try {
      checkLive(record);
      if (record.local) {
        const value = record.value;
        return perform(mode, () => local.cross(value, TRANSFER.COPY));
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    return send(OP.REF_COPY, record, mode, method);
  }

  /**
   * @param {ReferenceRecord} record
   * @param {unknown} receiver
   * @param {any} list
   * @param {any} options
   * @param {number} op OP.REF_APPLY or OP.REF_APPLY_SYNC_PROMISE
   * @param {number} mode
   * @param {Function} method
   */
  function applyTo(record, receiver, list, options, op, mode, method) {
    list = arrayArgument(list, 2);
    options = optionsArgument(options, 3);
    // The argument list of `invoke`. It has no prototype, so that nobody's setter on `Array.prototype` sees it.
    /** @type {any} */
    const parameters = { __proto__: null, length: 8, 0: op, 1: mode, 2: 0, 3: 0, 4: TRANSFER.OR_REFERENCE, 5: 0, 6: 0, 7: undefined };
    try {
      checkLive(record);
      const { cross } = local;
      const transfer = record.local ? cross : pack;
      // The receiver never has options of its own.
      parameters[7] = transfer(receiver, TRANSFER.OR_THROW);
      /** @type {number} */
      let argumentBits = TRANSFER.OR_THROW;
      let result;
      if (options !== undefined) {
        parameters[5] = readTimeout(options);
        parameters[6] = readDeadline(options);
        argumentBits = readTransfer(readObject(options, 'arguments'), TRANSFER.OR_THROW);
        result = readObject(options, 'result');
        parameters[4] = readTransfer(result, TRANSFER.OR_REFERENCE);
      }
      if (list !== undefined) {
        const size = list.length;
        for (let index = 0; index < size; index += 1) {
          parameters[8 + index] = transfer(list[index], argumentBits);
        }
        parameters.length = 8 + size;
      }
      if (op === OP.REF_APPLY_SYNC_PROMISE) {
        if (record.local || binding.side === 'host') {
          throw coded(Error, 'This function may not be called from the default thread', CODE.UNSUPPORTED);
        }
        if (parameters[4] !== TRANSFER.OR_REFERENCE) {
          throw invalid('`result` options are not available for `applySyncPromise`');
        }
      }
      if (record.local) {
        const value = record.value;
        return perform(mode, () => local.apply(value, parameters));
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    parameters[3] = idOf(record);
    const call = core.begin(mode, method);
    if (call !== undefined) {
      parameters[2] = call.request;
    }
    return core.conclude(mode, call, apply(invoke, undefined, parameters), method);
  }

  return freeze({ applyTo, copy, get, remove, set });
}

/** @param {() => unknown} operation */
async function later(operation) {
  await undefined;
  return operation();
}

/** @param {Promise<unknown>} promise */
async function swallow(promise) {
  try {
    await promise;
  } catch {
    // Nobody listens.
  }
}

module.exports = freeze({ checkLive, createAccess, ReferenceRecord });
