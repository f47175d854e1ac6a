'use strict';
// The guest's side of the binding, between the surface and the native functions. The functions are part of the startup snapshot; the
// binding is created in a realm when the first handle arrives there. The native side brings the files of the API then, because most realms
// never get a handle. Values are not encoded here: the native side reads and writes them directly.

const { alone, apply, define, Error, freeze } = require('./core/primordials.js');
const { kindOf, markHandles, recordOf, releasedText } = require('./core/handle.js');
const { APPLY_HEAD, HANDLE, INVOKE_HEAD, KIND, MESSAGE, MODE, TAG, TRANSFER } = require('./core/protocol.js');
const { CODE, callSite, coded, errorOf, invalid } = require('./core/error.js');
const divideWaits = require('./atomics.js');

// Part of the startup snapshot, so that every realm has it.
divideWaits(Atomics);

/** @param {unknown} value */
const isPrimitive = (value) => {
  const type = typeof value;
  return value === null || (type !== 'object' && type !== 'function' && type !== 'symbol');
};

/** What the files of the API have in common, from before any guest code ran. @type {any} */
const CAPTURED = alone({
  'error.js': require('./core/error.js'),
  'handle.js': require('./core/handle.js'),
  'primordials.js': require('./core/primordials.js'),
  'protocol.js': require('./core/protocol.js'),
});
/** @param {string} name */
const captured = (name) => CAPTURED[name];

/** Index of the first argument in what the surface passes to `apply`. */
const FIRST_ARGUMENT = INVOKE_HEAD + APPLY_HEAD;

/**
 * @param {any} native functions of the realm's isolate
 */
function createGuest(native) {
  const { brand, createSurface, cross, isArrayBuffer, now, owned, release, track } = native;
  /** @type {typeof import('./index.js')} */
  const surfaceOf = createSurface(captured);
  // The serializer needs to recognize handles while no JavaScript may run.
  markHandles(brand);

  const nativeInvoke = native.invoke;

  /** @param {any[]} args */
  function invoke(...args) {
    // No spread: it would use the iterator of the guest's arrays.
    const carrier = apply(nativeInvoke, undefined, args);
    const mode = args[1];
    if (mode === MODE.SYNC || carrier === undefined) {
      return carrier;
    }
    // The call could not be started.
    if (mode === MODE.ASYNC) {
      surface.settle(args[2], carrier);
      return undefined;
    }
    return unpack(carrier);
  }

  /**
   * @param {unknown} value
   * @param {number} bits
   */
  function pack(value, bits) {
    return (bits & TRANSFER.ASKED_MASK) <= TRANSFER.COPY && isPrimitive(value) ? value : [TAG.VALUE, value, bits];
  }

  /**
   * @param {any} carrier
   * @param {Function} [method]
   * @returns {any}
   */
  function unpack(carrier, method) {
    if (typeof carrier !== 'object' || carrier === null) {
      return carrier;
    }
    switch (carrier[0]) {
      case TAG.VALUE:
        return carrier[1];
      case TAG.LIST:
        return unpackList(carrier);
      case TAG.THROWN:
        throw carrier[1];
      default:
        throw errorOf(carrier, method === undefined ? undefined : callSite(method));
    }
  }

  /** @param {ArrayLike<any>} carrier */
  function unpackList(carrier) {
    /** @type {any[]} */
    const list = [];
    for (let index = 1; index < carrier.length; index += 1) {
      define(list, index - 1, unpack(carrier[index]), true, true);
    }
    return list;
  }

  const surface = surfaceOf(alone({
    side: /** @type {const} */ ('guest'),
    invoke,
    invokeSync: native.invokeSync,
    pack,
    packMoving(value, transferOut, transferList) {
      /** @type {object[]} */
      const buffers = [];
      const size = transferList === undefined ? 0 : transferList.length;
      for (let index = 0; index < size; index += 1) {
        const buffer = /** @type {ArrayLike<unknown>} */ (transferList)[index];
        if (!isArrayBuffer(buffer)) {
          throw invalid('Non-ArrayBuffer passed in `transferList`');
        }
        define(buffers, index, buffer, true, true);
      }
      return [TAG.MOVE, value, transferOut, buffers];
    },
    unpack,
    idOf(carrier, method) {
      if (typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.HANDLE) {
        return carrier[HANDLE.ID];
      }
      unpack(carrier, method);
      throw coded(Error, 'A handle was expected', CODE.UNSUPPORTED);
    },
    release,
    track,
    owned,
    bind: (target) => target,
    // Unhandled rejections in guests have no effect.
    settled: (value) => value,
    startWork: () => undefined,
    discarded() {},
    isArrayBuffer,
    now,
    local: alone({
      cross,
      get: native.get,
      set: native.set,
      delete: native.remove,
      /** @type {import('./index.js').Local['apply']} */
      apply(target, receiver, args, bits, _discarded, timeout, deadline) {
        const callable = kindOf(target) === KIND.CALLBACK ? recordOf(target, KIND.CALLBACK).target : target;
        if (typeof callable !== 'function') {
          throw invalid(MESSAGE.NOT_A_FUNCTION);
        }
        const size = args === undefined ? 0 : args.length - FIRST_ARGUMENT;
        /** @type {any} without a prototype, so that no setter on `Array.prototype` runs */
        const list = { __proto__: null, length: size };
        for (let index = 0; index < size; index += 1) {
          list[index] = /** @type {ArrayLike<any>} */ (args)[FIRST_ARGUMENT + index];
        }
        const call = () => cross(apply(callable, receiver, list), bits);
        return timeout === 0 && deadline === 0 ? call() : native.limited(call, timeout, deadline);
      },
    }),
  }));

  /**
   * The carrier for a handle of this realm; undefined for any other object. For a handle that can no longer be used, a string with the
   * reason.
   * @param {object} object
   */
  function identify(object) {
    const kind = kindOf(object);
    if (kind === -1) {
      return undefined;
    }
    const record = recordOf(object, kind);
    switch (kind) {
      case KIND.IVM:
        return [TAG.HANDLE, 0];
      case KIND.LIB:
        return [TAG.HANDLE, 1];
      case KIND.REFERENCE:
        if (record.released) {
          return 'Reference has been released';
        }
        return record.entry === undefined ? [TAG.VALUE, record.value, TRANSFER.REFERENCE | record.flags] : [TAG.HANDLE, record.entry.id];
      case KIND.CALLBACK:
        return [TAG.FUNCTION, record.target, record.name, record.length, record.mode];
      case KIND.DEREFERENCE: {
        const { source } = record;
        if (source === undefined) {
          return 'The return value of `derefInto()` should only be used once';
        }
        record.source = undefined;
        if (source.entry === undefined) {
          return [TAG.DEREF, 0, source.value];
        }
        surface.core.entries.leaveLater(source.entry);
        return [TAG.DEREF, source.entry.id];
      }
      case KIND.COPY_INTO: {
        const { entry } = record;
        if (entry === undefined) {
          return 'The return value of `copyInto()` should only be used once';
        }
        record.entry = undefined;
        surface.core.entries.leaveLater(entry);
        return [TAG.COPY_INTO, entry.id, record.transferIn];
      }
      default:
        if (record.entry === undefined) {
          return releasedText(kind);
        }
        return [TAG.HANDLE, record.entry.id];
    }
  }

  return freeze({ adopt: surface.adopt, settle: surface.settle, identify });
}

module.exports = freeze({ createGuest });
