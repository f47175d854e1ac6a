'use strict';
// `Reference`: a reference to a value in the realm that owns it. This file has the class, its instances and their release. The operations on
// the value are in reference-access.js.

const { cutOff, freeze } = require('../core/primordials.js');
const { bare, referenceOf, stamp, typeNameOf } = require('../core/handle.js');
const { KIND, MODE, OP, OTHER_REALM, TRANSFER } = require('../core/protocol.js');
const { callSite, invalid } = require('../core/error.js');
const { defineClass, instance, needsNew, privateConstructor } = require('../core/classes.js');
const { booleanOption, illegalInvocation, optionsArgument, tooFew, wrongThis } = require('../core/options.js');
const { checkLive, createAccess, ReferenceRecord } = require('./reference-access.js');

/** The private state of the return value of `derefInto()`: a Reference that can be used once. */
class DereferenceRecord {
  /** @param {import('./reference-access.js').Target} source */
  constructor(source) {
    /** @type {import('./reference-access.js').Target | undefined} undefined once used */
    this.source = source;
  }
}
cutOff(DereferenceRecord);

/** @param {import('../index.js').Core} core */
function createReference(core) {
  const { binding, entries } = core;
  const { applyTo, copy, get, remove, set } = createAccess(core);

  /**
   * @this {object}
   * @param {any} value
   * @param {any} [options]
   */
  function Reference(value, options) {
    if (new.target === undefined) {
      throw needsNew('Reference');
    }
    if (arguments.length < 1) {
      throw tooFew(1, 'Reference');
    }
    options = optionsArgument(options, 2, 'Reference');
    const flags = options !== undefined && booleanOption(options.unsafeInherit, 'unsafeInherit') ? TRANSFER.UNSAFE_INHERIT : 0;
    return freeze(stamp(bare(new.target, this), KIND.REFERENCE, new ReferenceRecord(undefined, true, false, value, typeNameOf(value), flags)));
  }

  function Dereference() {
    throw privateConstructor('Dereference');
  }

  /**
   * The record of a Reference that arrived.
   * @param {import('../core/handle.js').Row} entry
   * @param {number} slot of this realm's own value, OTHER_REALM, or negative
   * @param {string} typeOf
   * @param {number} flags
   * @returns {import('./reference-access.js').Target}
   */
  function adopt(entry, slot, typeOf, flags) {
    const shared = slot === OTHER_REALM;
    const own = slot >= 0 && !shared;
    return new ReferenceRecord(entry, own, shared, own || shared ? binding.owned(shared ? entry.id : slot) : undefined, typeOf, flags);
  }

  /**
   * @param {unknown} self
   * @returns {import('./reference-access.js').Target}
   */
  function recordOfThis(self) {
    const record = referenceOf(self);
    if (record === undefined) {
      throw illegalInvocation();
    }
    return record;
  }

  /** @param {import('./reference-access.js').Target} record */
  function release(record) {
    checkLive(record);
    record.released = true;
    record.value = undefined;
    if (record.entry !== undefined) {
      entries.leave(record.entry);
      record.entry = undefined;
    }
  }

  /**
   * The record of a second wrapper for the same value.
   * @param {import('./reference-access.js').Target} record
   * @returns {import('./reference-access.js').Target}
   */
  function share(record) {
    const entry = record.entry === undefined ? undefined : entries.share(record.entry);
    return new ReferenceRecord(entry, record.local, record.shared, record.value, record.typeOf, record.flags);
  }

  const methods = {
    /** @param {any} options */
    deref(options) {
      const record = recordOfThis(this);
      options = optionsArgument(options, 1);
      checkLive(record);
      if (!record.local && !record.shared) {
        throw invalid('Cannot dereference this from current isolate');
      }
      const value = record.value;
      if (options !== undefined && booleanOption(options.release, 'release')) {
        release(record);
      }
      return value;
    },
    /** @param {any} options */
    derefInto(options) {
      const record = recordOfThis(this);
      options = optionsArgument(options, 1);
      checkLive(record);
      const source = share(record);
      if (options !== undefined && booleanOption(options.release, 'release')) {
        release(record);
      }
      return instance(Dereference, KIND.DEREFERENCE, new DereferenceRecord(source));
    },
    release() {
      release(recordOfThis(this));
    },
    /** @param {any} [options] */
    copy(options = undefined) {
      return copy(recordOfThis(this), optionsArgument(options, 1), MODE.ASYNC, methods.copy);
    },
    /** @param {any} [options] */
    copySync(options = undefined) {
      return copy(recordOfThis(this), optionsArgument(options, 1), MODE.SYNC, methods.copySync);
    },
    /**
     * @param {string | number} key
     * @param {any} [options]
     */
    delete(key, options = undefined) {
      return remove(needs(this, arguments.length, 1), key, optionsArgument(options, 2), MODE.ASYNC, methods.delete);
    },
    /**
     * @param {string | number} key
     * @param {any} [options]
     */
    deleteIgnored(key, options = undefined) {
      return remove(needs(this, arguments.length, 1), key, optionsArgument(options, 2), MODE.IGNORED, methods.deleteIgnored);
    },
    /**
     * @param {string | number} key
     * @param {any} [options]
     */
    deleteSync(key, options = undefined) {
      return remove(needs(this, arguments.length, 1), key, optionsArgument(options, 2), MODE.SYNC, methods.deleteSync);
    },
    /**
     * @param {string | number} key
     * @param {any} options
     */
    get(key, options) {
      return get(needs(this, arguments.length, 1), key, optionsArgument(options, 2), MODE.ASYNC, methods.get);
    },
    /**
     * @param {string | number} key
     * @param {any} options
     */
    getSync(key, options) {
      return get(needs(this, arguments.length, 1), key, optionsArgument(options, 2), MODE.SYNC, methods.getSync);
    },
    /**
     * @param {string | number} key
     * @param {any} value
     * @param {any} options
     */
    set(key, value, options) {
      return set(needs(this, arguments.length, 2), key, value, optionsArgument(options, 3), MODE.ASYNC, methods.set);
    },
    /**
     * @param {string | number} key
     * @param {any} value
     * @param {any} options
     */
    setIgnored(key, value, options) {
      return set(needs(this, arguments.length, 2), key, value, optionsArgument(options, 3), MODE.IGNORED, methods.setIgnored);
    },
    /**
     * @param {string | number} key
     * @param {any} value
     * @param {any} options
     */
    setSync(key, value, options) {
      return set(needs(this, arguments.length, 2), key, value, optionsArgument(options, 3), MODE.SYNC, methods.setSync);
    },
    /** @type {(receiver: any, list: any, options: any) => any} */
    apply(receiver, list, options) {
      return applyTo(recordOfThis(this), receiver, list, options, OP.REF_APPLY, MODE.ASYNC, methods.apply, callSite(methods.apply));
    },
    /** @type {(receiver: any, list: any, options: any) => any} */
    applyIgnored(receiver, list, options) {
      return applyTo(recordOfThis(this), receiver, list, options, OP.REF_APPLY, MODE.IGNORED, methods.applyIgnored);
    },
    /** @type {(receiver: any, list: any, options: any) => any} */
    applySync(receiver, list, options) {
      return applyTo(recordOfThis(this), receiver, list, options, OP.REF_APPLY, MODE.SYNC, methods.applySync);
    },
    /** @type {(receiver: any, list: any, options: any) => any} */
    applySyncPromise(receiver, list, options) {
      return applyTo(recordOfThis(this), receiver, list, options, OP.REF_APPLY_SYNC_PROMISE, MODE.SYNC, methods.applySyncPromise);
    },
    get typeof() {
      const record = referenceOf(this);
      if (record === undefined) {
        throw wrongThis();
      }
      checkLive(record);
      return record.typeOf;
    },
  };

  /**
   * @param {unknown} self
   * @param {number} count of arguments given
   * @param {number} required
   * @returns {import('./reference-access.js').Target}
   */
  function needs(self, count, required) {
    const record = recordOfThis(self);
    if (count < required) {
      throw tooFew(required);
    }
    return record;
  }

  defineClass(Reference, methods, {
    /** Former name of `release`. */
    dispose() {
      release(recordOfThis(this));
    },
  }, function dispose() {
    const record = recordOfThis(this);
    if (!record.released) {
      release(record);
    }
  });
  defineClass(Dereference, {});

  return {
    Constructor: Reference,
    adopt,
    /** @param {unknown} value @param {number} flags */
    make: (value, flags) =>
      instance(Reference, KIND.REFERENCE, new ReferenceRecord(undefined, true, false, value, typeNameOf(value), flags)),
    /** @param {unknown} reference */
    release(reference) {
      const record = referenceOf(reference);
      if (record !== undefined && !record.released) {
        release(record);
      }
    },
    /** @param {import('./reference-access.js').Target} record */
    twin: (record) => instance(Reference, KIND.REFERENCE, share(record)),
  };
}

module.exports = createReference;
