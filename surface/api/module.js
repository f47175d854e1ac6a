'use strict';
// `Module`: a compiled ES module. Instances are not frozen, because the compilation cache is added to them. Resolution of imports is in
// linker.js.

const { cutOff } = require('../core/primordials.js');
const { recordOf } = require('../core/handle.js');
const { KIND, MODE, OP, TRANSFER } = require('../core/protocol.js');
const { released } = require('../core/error.js');
const { defineClass, privateConstructor } = require('../core/classes.js');
const {
  booleanOption, contextArgument, illegalInvocation, optionsArgument, readDeadline, readSignal, readTimeout, tooFew, wrongParameter,
  wrongThis,
} = require('../core/options.js');
const createLinker = require('./linker.js');

/** The private state of a `Module`. */
class ModuleRecord {
  /** @param {import('../core/handle.js').Row} entry */
  constructor(entry) {
    /** @type {import('../core/handle.js').Row | undefined} undefined once released */
    this.entry = entry;
  }
}
cutOff(ModuleRecord);

/** @param {import('../index.js').Core} core */
module.exports = function createModule(core) {
  const { binding, entries } = core;
  const { invoke, unpack } = binding;
  const { importerOf, instantiateLater, instantiateNow } = createLinker(core);

  function Module() {
    throw privateConstructor('Module');
  }

  /**
   * @param {import('../core/handle.js').Row} entry
   * @returns {ModuleRecord}
   */
  const adopt = (entry) => new ModuleRecord(entry);

  /**
   * @param {unknown} self
   * @returns {ModuleRecord}
   */
  function recordOfThis(self) {
    const record = recordOf(self, KIND.MODULE);
    if (record === undefined) {
      throw illegalInvocation();
    }
    return record;
  }

  /**
   * The id of the module; throws if it was released.
   * @param {unknown} self
   * @returns {number}
   */
  function idOfThis(self) {
    const { entry } = recordOfThis(self);
    if (entry === undefined) {
      throw released('Module has been released');
    }
    return entry.id;
  }

  /**
   * The same for a getter, whose error message is about `this`.
   * @param {unknown} self
   * @returns {number}
   */
  function idForGetter(self) {
    if (recordOf(self, KIND.MODULE) === undefined) {
      throw wrongThis();
    }
    return idOfThis(self);
  }

  /**
   * @param {unknown} self
   * @param {unknown} context
   * @param {unknown} resolve
   * @param {number} count of arguments
   */
  function checkInstantiation(self, context, resolve, count) {
    recordOfThis(self);
    if (count < 2) {
      throw tooFew(2);
    }
    const target = contextArgument(context, 1);
    if (typeof resolve !== 'function') {
      throw wrongParameter(2, 'a function');
    }
    if (target.entry === undefined) {
      throw released('Context is released');
    }
  }

  /**
   * Unlike in other methods, wrong options throw in the asynchronous form too, as in isolated-vm.
   * @param {unknown} self
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   */
  function evaluate(self, options, mode, method) {
    recordOfThis(self);
    options = optionsArgument(options, 1);
    const id = idOfThis(self);
    /** @type {number} */
    let bits = TRANSFER.OR_UNDEFINED;
    let timeout = 0;
    let deadline = 0;
    let signal;
    if (options !== undefined) {
      timeout = readTimeout(options);
      deadline = readDeadline(options);
      // A module has no value, so of the options of `run` only `promise` is meaningful: a promise for the end.
      bits = booleanOption(options.promise, 'promise') ? TRANSFER.PROMISE | TRANSFER.OR_UNDEFINED : bits;
      try {
        signal = readSignal(options, mode, binding.signals);
      } catch (error) {
        return core.refuse(mode, error);
      }
    }
    const call = core.begin(mode, method, signal);
    const request = call === undefined ? 0 : call.request;
    return core.conclude(mode, call, invoke(OP.MODULE_EVALUATE, mode, request, id, bits, timeout, deadline), method);
  }

  const methods = {
    get dependencySpecifiers() {
      return unpack(invoke(OP.MODULE_REQUESTS, MODE.SYNC, 0, idForGetter(this)), Module);
    },
    /**
     * @param {object} context
     * @param {Function} resolve
     * @param {any} [options]
     */
    instantiate(context, resolve, options = undefined) {
      checkInstantiation(this, context, resolve, arguments.length);
      options = optionsArgument(options, 3);
      return instantiateLater(this, context, resolve, methods.instantiate, options);
    },
    /**
     * @param {object} context
     * @param {Function} resolve
     */
    instantiateSync(context, resolve) {
      checkInstantiation(this, context, resolve, arguments.length);
      return instantiateNow(this, context, resolve, methods.instantiateSync);
    },
    /** @param {any} options */
    evaluate(options) {
      return evaluate(this, options, MODE.ASYNC, methods.evaluate);
    },
    /** @param {any} options */
    evaluateSync(options) {
      return evaluate(this, options, MODE.SYNC, methods.evaluateSync);
    },
    get namespace() {
      return unpack(invoke(OP.MODULE_NAMESPACE, MODE.SYNC, 0, idForGetter(this)), Module);
    },
    /** Calling it again does nothing. */
    release() {
      const record = recordOfThis(this);
      if (record.entry !== undefined) {
        entries.leave(record.entry);
        record.entry = undefined;
      }
    },
  };

  defineClass(Module, methods, undefined, methods.release);
  return { Constructor: Module, adopt, importerOf };
};
