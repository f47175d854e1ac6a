'use strict';
// `ExternalCopy`: a value stored outside any heap, to be copied into any isolate. The copy is made once, by the constructor. Only a
// handle for it is kept here.

const { cutOff, defineProperty, freeze, getOwnPropertyDescriptor } = require('../core/primordials.js');
const { bare, recordOf, stamp } = require('../core/handle.js');
const { KIND, MODE, OP, TRANSFER } = require('../core/protocol.js');
const { released } = require('../core/error.js');
const { defineClass, instance, needsNew, privateConstructor } = require('../core/classes.js');
const { booleanOption, illegalInvocation, optionsArgument, readArray, tooFew } = require('../core/options.js');

/** The private state of an `ExternalCopy`. */
class CopyRecord {
  /**
   * @param {import('../core/handle.js').Row} entry
   * @param {'buffer' | 'other' | 'unknown'} type whether it holds an ArrayBuffer; unknown for a copy that arrived
   */
  constructor(entry, type) {
    /** @type {import('../core/handle.js').Row | undefined} undefined once released */
    this.entry = entry;
    this.type = type;
  }
}
cutOff(CopyRecord);

/** The private state of the return value of `copyInto()`: a copy that can be used once. */
class CopyIntoRecord {
  /**
   * @param {import('../core/handle.js').Row} entry
   * @param {boolean} transferIn
   */
  constructor(entry, transferIn) {
    /** @type {import('../core/handle.js').Row | undefined} undefined once used */
    this.entry = entry;
    this.transferIn = transferIn;
  }
}
cutOff(CopyIntoRecord);

/** @param {import('../index.js').Core} core */
module.exports = function createExternalCopy(core) {
  const { binding, entries } = core;
  const { idOf, invoke, unpack } = binding;

  /**
   * @this {object}
   * @param {any} value
   * @param {any} [options]
   */
  function ExternalCopy(value, options) {
    if (new.target === undefined) {
      throw needsNew('ExternalCopy');
    }
    if (arguments.length < 1) {
      throw tooFew(1, 'ExternalCopy');
    }
    options = optionsArgument(options, 2, 'ExternalCopy');
    let transferOut = false;
    let transferList;
    if (options !== undefined) {
      transferOut = booleanOption(options.transferOut, 'transferOut');
      transferList = readArray(options, 'transferList');
    }
    return freeze(stamp(bare(new.target, this), KIND.EXTERNAL_COPY, make(value, transferOut, transferList)));
  }

  function ExternalCopyInto() {
    throw privateConstructor('ExternalCopyInto');
  }

  /**
   * @param {unknown} value
   * @param {boolean} transferOut
   * @param {ArrayLike<unknown> | undefined} transferList
   * @returns {CopyRecord}
   */
  function make(value, transferOut, transferList) {
    const carrier = transferOut || transferList !== undefined
      ? binding.packMoving(value, transferOut, transferList)
      : binding.pack(value, TRANSFER.COPY);
    const id = idOf(invoke(OP.COPY_NEW, MODE.SYNC, 0, 0, carrier), ExternalCopy);
    return new CopyRecord(entries.enter(id), binding.isArrayBuffer(value) ? 'buffer' : 'other');
  }

  /**
   * @param {import('../core/handle.js').Row} entry
   * @returns {CopyRecord}
   */
  const adopt = (entry) => new CopyRecord(entry, 'unknown');

  /**
   * @param {unknown} self
   * @returns {CopyRecord}
   */
  function recordOfThis(self) {
    const record = recordOf(self, KIND.EXTERNAL_COPY);
    if (record === undefined) {
      throw illegalInvocation();
    }
    return record;
  }

  /**
   * @param {CopyRecord} record
   * @returns {import('../core/handle.js').Row}
   */
  function entryOfLive(record) {
    if (record.entry === undefined) {
      throw released('Copy has been released');
    }
    return record.entry;
  }

  /** @param {CopyRecord} record */
  function release(record) {
    entries.leave(entryOfLive(record));
    record.entry = undefined;
  }

  const methods = {
    /** @param {any} options */
    copy(options) {
      const record = recordOfThis(this);
      options = optionsArgument(options, 1);
      const { id } = entryOfLive(record);
      if (options === undefined) {
        return unpack(invoke(OP.COPY_COPY, MODE.SYNC, 0, id, false), methods.copy);
      }
      const drop = booleanOption(options.release, 'release');
      const value = unpack(invoke(OP.COPY_COPY, MODE.SYNC, 0, id, booleanOption(options.transferIn, 'transferIn')), methods.copy);
      if (drop) {
        release(record);
      }
      return value;
    },
    /** @param {any} options */
    copyInto(options) {
      const record = recordOfThis(this);
      options = optionsArgument(options, 1);
      const entry = entryOfLive(record);
      let drop = false;
      let transferIn = false;
      if (options !== undefined) {
        drop = booleanOption(options.release, 'release');
        transferIn = booleanOption(options.transferIn, 'transferIn');
      }
      const into = new CopyIntoRecord(entries.share(entry), transferIn);
      if (drop) {
        release(record);
      }
      return instance(ExternalCopyInto, KIND.COPY_INTO, into);
    },
    release() {
      release(recordOfThis(this));
    },
  };

  defineClass(ExternalCopy, methods, {
    /** Former name of `release`. */
    dispose() {
      release(recordOfThis(this));
    },
  }, function dispose() {
    const record = recordOfThis(this);
    if (record.entry !== undefined) {
      release(record);
    }
  });
  defineClass(ExternalCopyInto, {});
  const total = {
    get totalExternalSize() {
      return unpack(invoke(OP.COPY_TOTAL_SIZE, MODE.SYNC, 0, 0), ExternalCopy);
    },
  };
  defineProperty(ExternalCopy, 'totalExternalSize', /** @type {any} */ ({
    __proto__: null,
    get: /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(total, 'totalExternalSize')).get,
    set: undefined,
    enumerable: true,
    configurable: true,
  }));

  return {
    Constructor: ExternalCopy,
    adopt,
    /**
     * @param {unknown} value
     * @returns {object}
     */
    make: (value) => instance(ExternalCopy, KIND.EXTERNAL_COPY, make(value, false, undefined)),
  };
};
