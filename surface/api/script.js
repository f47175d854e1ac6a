'use strict';
// `Script`: compiled code that runs in any context of its isolate. Instances are not frozen, because the compilation cache is added to
// them.

const { cutOff } = require('../core/primordials.js');
const { contextOf, scriptOf } = require('../core/handle.js');
const { MODE, OP, TRANSFER } = require('../core/protocol.js');
const { callSite, released } = require('../core/error.js');
const { defineClass, privateConstructor } = require('../core/classes.js');
const {
  booleanOption, contextArgument, illegalInvocation, optionsArgument, readDeadline, readSignal, readTimeout, readTransfer, tooFew,
} = require('../core/options.js');

/** The private state of a `Script`. */
class ScriptRecord {
  /** @param {import('../core/handle.js').Row} entry */
  constructor(entry) {
    /** @type {import('../core/handle.js').Row | undefined} undefined once released */
    this.entry = entry;
  }
}
cutOff(ScriptRecord);

/** @param {import('../index.js').Core} core */
module.exports = function createScript(core) {
  const { binding, entries } = core;
  const { invoke, unpack } = binding;

  function Script() {
    throw privateConstructor('Script');
  }

  /**
   * @param {import('../core/handle.js').Row} entry
   * @returns {ScriptRecord}
   */
  const adopt = (entry) => new ScriptRecord(entry);

  /**
   * @param {unknown} self
   * @returns {ScriptRecord}
   */
  function recordOfThis(self) {
    const record = scriptOf(self);
    if (record === undefined) {
      throw illegalInvocation();
    }
    return record;
  }

  /**
   * @param {unknown} self
   * @param {unknown} context
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   * @param {number} count of arguments
   * @param {{ stack?: unknown }} [site] of an asynchronous call, see `callSite`
   */
  function run(self, context, options, mode, method, count, site) {
    const record = recordOfThis(self);
    if (count < 1) {
      throw tooFew(1);
    }
    const target = contextArgument(context, 1);
    options = optionsArgument(options, 2);
    /** @type {number} */
    let bits = TRANSFER.OR_UNDEFINED;
    let timeout = 0;
    let deadline = 0;
    let signal;
    let release = false;
    const entry = record.entry;
    try {
      if (target.entry === undefined) {
        throw released('Context is released');
      }
      if (entry === undefined) {
        throw released('Script has been released');
      }
      if (options !== undefined) {
        release = booleanOption(options.release, 'release');
        timeout = readTimeout(options);
        deadline = readDeadline(options);
        bits = readTransfer(options, TRANSFER.OR_UNDEFINED);
        signal = readSignal(options, mode, binding.signals);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    const call = core.begin(mode, method, signal, site);
    const request = call === undefined ? 0 : call.request;
    const carrier = options === undefined
      ? invoke(OP.RUN, mode, request, entry.id, target.entry.id, bits)
      : invoke(OP.RUN, mode, request, entry.id, target.entry.id, bits, timeout, deadline);
    if (release && record.entry !== undefined) {
      // The call already holds the script. Guest code may also have released it, through another call.
      entries.leave(entry);
      record.entry = undefined;
    }
    return core.conclude(mode, call, carrier, method);
  }

  const methods = {
    /** Calling it again does nothing. */
    release() {
      const record = recordOfThis(this);
      if (record.entry !== undefined) {
        entries.leave(record.entry);
        record.entry = undefined;
      }
    },
    /**
     * @param {object} context
     * @param {any} [options]
     */
    run(context, options) {
      return run(this, context, options, MODE.ASYNC, methods.run, arguments.length, callSite(methods.run));
    },
    /**
     * @param {object} context
     * @param {any} [options]
     */
    runIgnored(context, options) {
      return run(this, context, options, MODE.IGNORED, methods.runIgnored, arguments.length);
    },
    /**
     * @param {object} context
     * @param {any} [options]
     */
    runSync(context, options) {
      const record = scriptOf(this);
      const target = contextOf(context);
      if (options === undefined && record !== undefined && target !== undefined && record.entry !== undefined && target.entry !== undefined) {
        const carrier = invoke(OP.RUN, MODE.SYNC, 0, record.entry.id, target.entry.id, TRANSFER.OR_UNDEFINED);
        return typeof carrier === 'object' && carrier !== null ? unpack(carrier, methods.runSync) : carrier;
      }
      return run(this, context, options, MODE.SYNC, methods.runSync, arguments.length);
    },
  };

  defineClass(Script, methods, undefined, methods.release);
  return { Constructor: Script, adopt };
};
