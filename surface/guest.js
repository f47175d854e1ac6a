'use strict';
// The guest's side of the binding: the surface above, native functions below. It runs in the startup snapshot as far as the
// functions go, and is put together in a realm when the first handle arrives there. Values stay what they are here; the
// native side reads and writes them itself.

const { apply, define, Error, finalizationRegister, FinalizationRegistry, freeze } = require('./primordials.js');
const { kindOf, recordOf } = require('./handle.js');
const { KIND, MODE, OP, TAG, TRANSFER } = require('./protocol.js');
const { CODE, callSite, coded, errorOf, refused, released } = require('./error.js');
const createSurface = require('./index.js');
const divideWaits = require('./atomics.js');

const ASKED = TRANSFER.TYPE_MASK | TRANSFER.PROMISE;

// Part of the startup snapshot, so every realm has it.
divideWaits(Atomics);

/** @returns {Error} */
const notYet = () => coded(Error, 'not available inside isolates yet', CODE.UNSUPPORTED);

/** @param {unknown} value */
const isPrimitive = (value) => {
  const type = typeof value;
  return value === null || (type !== 'object' && type !== 'function' && type !== 'symbol');
};

/** @param {number} op */
function isAvailable(op) {
  switch (op) {
    case OP.REF_APPLY:
    case OP.REF_APPLY_SYNC_PROMISE:
    case OP.REF_COPY:
    case OP.COPY_COPY:
    case OP.COMPILE_MODULE:
    case OP.MODULE_REQUESTS:
    case OP.MODULE_EVALUATE:
    case OP.MODULE_NAMESPACE:
    case OP.LINK_BEGIN:
    case OP.LINK_WATCH:
    case OP.LINK:
    case OP.INSTANTIATE:
      return true;
    default:
      return false;
  }
}

/**
 * @param {any} native functions of the realm's isolate
 */
function createGuest(native) {
  const { cross, isArrayBuffer, now, owned, release, track } = native;

  const nativeInvoke = native.invoke;

  /** @param {any[]} args */
  function invoke(...args) {
    if (!isAvailable(args[0])) {
      throw notYet();
    }
    // Not spread: that would ask the guest's arrays how to iterate.
    const carrier = apply(nativeInvoke, undefined, args);
    const mode = args[1];
    if (mode === MODE.SYNC || carrier === undefined) {
      return carrier;
    }
    // A call that nobody waits for here could not even be started.
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
    return (bits & ASKED) <= TRANSFER.COPY && isPrimitive(value) ? value : [TAG.VALUE, value, bits];
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

  const surface = createSurface(freeze({
    side: /** @type {const} */ ('guest'),
    invoke,
    pack,
    packMoving() {
      throw notYet();
    },
    unpack,
    idOf(carrier, method) {
      if (typeof carrier === 'object' && carrier !== null && carrier[0] === TAG.HANDLE) {
        return carrier[2];
      }
      unpack(carrier, method);
      throw notYet();
    },
    release,
    track,
    owned,
    bind: (target) => target,
    isArrayBuffer,
    now,
    local: freeze({
      cross,
      get() {
        throw notYet();
      },
      set() {
        throw notYet();
      },
      delete() {
        throw notYet();
      },
      apply() {
        throw notYet();
      },
    }),
  }));

  /**
   * What a handle of this realm is to others, as a carrier; undefined for every other object.
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
      case KIND.REFERENCE:
        if (record.released) {
          throw released('Reference has been released');
        }
        return record.entry === undefined ? [TAG.VALUE, record.value, TRANSFER.REFERENCE | record.flags] : [TAG.HANDLE, record.entry.id];
      case KIND.CALLBACK:
        return [TAG.FUNCTION, record.target, record.mode, record.name, record.length];
      case KIND.DEREFERENCE: {
        const { source } = record;
        if (source === undefined) {
          throw released('The return value of `derefInto()` should only be used once');
        }
        if (source.local) {
          throw refused('Cannot dereference this into target isolate');
        }
        record.source = undefined;
        surface.core.entries.leaveLater(source.entry);
        return [TAG.DEREF, source.entry.id];
      }
      case KIND.COPY_INTO: {
        const { entry } = record;
        if (entry === undefined) {
          throw released('The return value of `copyInto()` should only be used once');
        }
        record.entry = undefined;
        surface.core.entries.leaveLater(entry);
        return [TAG.COPY_INTO, entry.id, record.transferIn];
      }
      default:
        if (record.entry === undefined) {
          throw released('Handle has been released');
        }
        return [TAG.HANDLE, record.entry.id];
    }
  }

  return freeze({ adopt: surface.adopt, settle: surface.settle, identify });
}

/**
 * @param {(id: number) => void} release
 * @returns {(held: object, id: number) => void} has an id released when what goes by it is collected
 */
function createTracker(release) {
  const registry = new FinalizationRegistry(release);
  return (held, id) => finalizationRegister(registry, held, id);
}

module.exports = freeze({ createGuest, createTracker });
