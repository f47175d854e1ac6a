'use strict';
// References of this host to values of this host. The values stay in the realm, but results are as if they had crossed to an isolate and
// back: copies are copied, functions become delegates, and handles become second handles to the same value.

const { types } = require('node:util');
const { kindOf, recordOf } = require('../../core/handle.js');
const { APPLY_HEAD, CALLBACK, INVOKE_HEAD, KIND, MESSAGE, MODE, OP, TAG, TRANSFER } = require('../../core/protocol.js');
const { CallbackRecord } = require('../../api/callback.js');
const { invalid, refused, released } = require('../../core/error.js');
const { createClone } = require('./clone.js');
const { queueMicrotask } = require('../clock.js');
const { adopt, notify, ORIGIN, passOn } = require('../calls/host-calls.js');
const { checkArgument } = require('./pack.js');
const { isPrimitive } = require('./primitive.js');
const { read, remove, write } = require('./reflect.js');
const { checkShareable } = require('./shared.js');
const { delegate } = require('./unpack.js');

/**
 * @param {object} host
 * @param {any} host.native
 * @param {() => ReturnType<typeof import('../../index.js')>} host.surface
 * @param {(carrier: any, method?: Function) => any} host.unpack
 */
function createLocal({ native, surface, unpack }) {
  /**
   * @param {unknown} value
   * @param {number} bits
   * @returns {any}
   */
  function cross(value, bits) {
    if ((bits & TRANSFER.PROMISE) !== 0) {
      const rest = bits & ~TRANSFER.PROMISE;
      return types.isPromise(value) ? crossLater(value, rest) : crossNow(value, rest);
    }
    switch (bits & TRANSFER.TYPE_MASK) {
      case TRANSFER.COPY:
        return clone(value);
      case TRANSFER.EXTERNAL_COPY:
        return surface().copyOf(value);
      case TRANSFER.REFERENCE:
        return surface().referenceTo(value, 0);
      default:
        return isPrimitive(value) ? value : crossObject(value, bits);
    }
  }

  /**
   * @param {Promise<unknown>} promise
   * @param {number} bits
   */
  async function crossLater(promise, bits) {
    const value = await adopt(promise);
    return crossResult(value, bits, ORIGIN.REFERENCE);
  }

  /**
   * @param {unknown} value
   * @param {number} bits
   */
  async function crossNow(value, bits) {
    return crossResult(value, bits, ORIGIN.REFERENCE);
  }

  /**
   * Passes on what a function of this host returned, or what its promise resolved to. A promise that the receiver cannot wait for is discarded.
   * @param {unknown} value
   * @param {number} bits
   * @param {string} origin
   */
  function crossResult(value, bits, origin) {
    return passOn(cross, value, bits, origin);
  }

  /**
   * @param {unknown} value
   * @param {number} bits
   */
  function crossObject(value, bits) {
    if (typeof value === 'function') {
      return delegateOf(new CallbackRecord(value, CALLBACK.SYNC));
    }
    if (kindOf(value) !== -1) {
      return crossHandle(/** @type {object} */ (value));
    }
    switch (bits & TRANSFER.FALLBACK_MASK) {
      case TRANSFER.OR_UNDEFINED:
        return undefined;
      case TRANSFER.OR_REFERENCE:
        return surface().referenceTo(value, bits & TRANSFER.UNSAFE_INHERIT);
      case TRANSFER.OR_COPY:
        return clone(value);
      default:
        throw refused(MESSAGE.NOT_TRANSFERABLE);
    }
  }

  /**
   * @param {object} handle
   * @returns {any}
   */
  function crossHandle(handle) {
    const kind = kindOf(handle);
    const record = recordOf(handle, kind);
    switch (kind) {
      case KIND.IVM:
      case KIND.LIB:
        return handle;
      case KIND.CALLBACK:
        return delegateOf(record);
      case KIND.DEREFERENCE:
        return dereference(record);
      case KIND.COPY_INTO:
        return copyInto(record);
      default:
        if (record.released === true || (record.entry === undefined && record.local !== true)) {
          throw released('Handle has been released');
        }
        return surface().twin(handle);
    }
  }

  /** @param {{ source?: any }} record */
  function dereference(record) {
    const { source } = record;
    if (source === undefined) {
      throw released('The return value of `derefInto()` should only be used once');
    }
    record.source = undefined;
    if (source.entry !== undefined) {
      surface().core.entries.leave(source.entry);
    }
    if (!source.local) {
      throw refused(MESSAGE.WRONG_ISOLATE);
    }
    return source.value;
  }

  /** @param {{ entry?: import('../../core/handle.js').Row, transferIn: boolean }} record */
  function copyInto(record) {
    const { entry } = record;
    if (entry === undefined) {
      throw released('The return value of `copyInto()` should only be used once');
    }
    record.entry = undefined;
    try {
      return unpack(native.invoke(OP.COPY_COPY, MODE.SYNC, 0, entry.id, record.transferIn));
    } finally {
      surface().core.entries.leave(entry);
    }
  }

  /** @param {import('../../api/callback.js').Described} record */
  const delegateOf = (record) => delegateTo(record.target, record.name, record.length, record.mode);

  /**
   * @param {Function} target
   * @param {string} name
   * @param {number} length
   * @param {number} mode
   */
  function delegateTo(target, name, length, mode) {
    return delegate(name, length, (args) => {
      for (let index = 0; index < args.length; index += 1) {
        checkArgument(args[index]);
        args[index] = clone(args[index]);
      }
      if (mode === CALLBACK.ASYNC) {
        return callLater(target, args);
      }
      if (mode === CALLBACK.IGNORED) {
        queueMicrotask(() => notify(ORIGIN.CALLBACK, target, undefined, args));
        return undefined;
      }
      return crossResult(Reflect.apply(target, undefined, args), TRANSFER.OR_COPY, ORIGIN.CALLBACK);
    });
  }

  /**
   * @param {Function} target
   * @param {unknown[]} args
   */
  async function callLater(target, args) {
    await undefined;
    return crossResult(Reflect.apply(target, undefined, args), TRANSFER.OR_COPY, ORIGIN.CALLBACK);
  }

  /**
   * @param {unknown} value
   * @returns {any}
   */
  function clone(value) {
    if (isPrimitive(value)) {
      return value;
    }
    if (typeof value === 'symbol') {
      throw refused(MESSAGE.UNSUPPORTED_TYPE);
    }
    return copies.clone(value);
  }

  const copies = createClone((object) => (kindOf(object) === -1 ? undefined : [TAG.HANDLE, object]), checkShareable, crossHandle);

  /** @param {unknown} target */
  const functionOf = (target) => (kindOf(target) === KIND.CALLBACK ? recordOf(target, KIND.CALLBACK).target : target);

  /** @type {import('../../index.js').Local} */
  const local = {
    cross,
    get(target, key, bits) {
      const value = read(target, key, bits);
      return (bits & TRANSFER.ACCESSORS) === 0 ? cross(value, bits) : crossResult(value, bits, ORIGIN.REFERENCE);
    },
    set: (target, key, value) => write(target, key, () => value),
    delete: remove,
    apply(target, receiver, args, bits, discarded) {
      const callable = functionOf(target);
      if (typeof callable !== 'function') {
        throw invalid(MESSAGE.NOT_A_FUNCTION);
      }
      const list = args === undefined ? [] : Array.prototype.slice.call(args, FIRST_ARGUMENT);
      if (discarded) {
        notify(ORIGIN.REFERENCE, callable, receiver, list);
        return undefined;
      }
      return crossResult(Reflect.apply(callable, receiver, list), bits, ORIGIN.REFERENCE);
    },
  };

  return { delegateTo, local };
}

/** Index of the first of the call's arguments in what the surface passes. */
const FIRST_ARGUMENT = INVOKE_HEAD + APPLY_HEAD;

module.exports = { createLocal };
