'use strict';
// `Context`: a global object of an isolate, and the code that runs in it. `evalSync` is the fastest path from a host to a guest and
// back, so a call without options goes directly to the native side.

const { apply, cutOff } = require('../core/primordials.js');
const { contextOf, kindOf } = require('../core/handle.js');
const { KIND, MODE, OP, TRANSFER } = require('../core/protocol.js');
const { callSite, released } = require('../core/error.js');
const { defineClass, privateConstructor } = require('../core/classes.js');
const {
  arrayArgument, illegalInvocation, objectOption, optionsArgument, Origin, readDeadline, readSignal, readTimeout, readTransfer, tooFew,
  wrongParameter, wrongThis,
} = require('../core/options.js');
const { FEW, transferAll } = require('./reference-access.js');

/** Parameters of `invoke` before the arguments of a closure: op to handle, code, origin, bits, timeout, deadline. */
const CLOSURE_HEAD = 11;

/** The private state of a `Context`. */
class ContextRecord {
  /** @param {import('../core/handle.js').Row} entry */
  constructor(entry) {
    /** @type {import('../core/handle.js').Row | undefined} undefined once released */
    this.entry = entry;
    /** @type {any} the Reference to the global object, created on first use */
    this.global = undefined;
  }
}
cutOff(ContextRecord);

/** @param {import('../index.js').Core} core */
module.exports = function createContext(core) {
  const { binding, entries } = core;
  const { invoke, pack, unpack } = binding;

  function Context() {
    throw privateConstructor('Context');
  }

  /**
   * @param {import('../core/handle.js').Row} entry
   * @returns {ContextRecord}
   */
  const adopt = (entry) => new ContextRecord(entry);

  /**
   * @param {unknown} self
   * @returns {ContextRecord}
   */
  function recordOfThis(self) {
    const record = contextOf(self);
    if (record === undefined) {
      throw illegalInvocation();
    }
    return record;
  }

  /**
   * @param {ContextRecord} record
   * @returns {number}
   */
  function idOfLive(record) {
    if (record.entry === undefined) {
      throw released('Context is released');
    }
    return record.entry.id;
  }

  /**
   * @param {unknown} self
   * @param {unknown} code
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   * @param {number} count of arguments
   * @param {{ stack?: unknown }} [site] of an asynchronous call, see `callSite`
   */
  function evaluate(self, code, options, mode, method, count, site) {
    const record = recordOfThis(self);
    if (typeof code !== 'string') {
      throw count < 1 ? tooFew(1) : wrongParameter(1, 'a string');
    }
    options = optionsArgument(options, 2);
    let origin;
    /** @type {number} */
    let bits = TRANSFER.OR_UNDEFINED;
    let timeout = 0;
    let deadline = 0;
    let signal;
    let id;
    try {
      if (options !== undefined) {
        origin = new Origin(options);
        bits = readTransfer(options, TRANSFER.OR_UNDEFINED);
      }
      id = idOfLive(record);
      if (options !== undefined) {
        timeout = readTimeout(options);
        deadline = readDeadline(options);
        signal = readSignal(options, mode, binding.signals);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    const call = core.begin(mode, method, signal, site);
    const request = call === undefined ? 0 : call.request;
    const carrier = origin === undefined
      ? invoke(OP.EVAL, mode, request, id, code, undefined, undefined, undefined, bits)
      : invoke(OP.EVAL, mode, request, id, code, origin.filename, origin.lineOffset, origin.columnOffset, bits, timeout, deadline);
    return core.conclude(mode, call, carrier, method);
  }

  /**
   * @param {unknown} self
   * @param {unknown} code
   * @param {any} list
   * @param {any} options
   * @param {number} mode
   * @param {Function} method
   * @param {number} count of arguments
   * @param {{ stack?: unknown }} [site] of an asynchronous call, see `callSite`
   */
  function evaluateClosure(self, code, list, options, mode, method, count, site) {
    const record = recordOfThis(self);
    if (typeof code !== 'string') {
      throw count < 1 ? tooFew(1) : wrongParameter(1, 'a string');
    }
    list = arrayArgument(list, 2);
    options = optionsArgument(options, 3);
    let origin;
    /** @type {number} */
    let bits = TRANSFER.OR_THROW;
    /** @type {number} */
    let argumentBits = TRANSFER.OR_THROW;
    let timeout = 0;
    let deadline = 0;
    let signal;
    let size = 0;
    /** @type {any} the arguments, if there are more than `FEW` */
    let carriers;
    let id;
    let first;
    let second;
    let third;
    try {
      if (options !== undefined) {
        origin = new Origin(options);
        bits = readTransfer(objectOption(options.result, 'result'), TRANSFER.OR_THROW);
        argumentBits = readTransfer(objectOption(options.arguments, 'arguments'), TRANSFER.OR_THROW);
      }
      if (list !== undefined) {
        size = list.length;
        if (size > FEW) {
          carriers = transferAll(pack, list, size, argumentBits, CLOSURE_HEAD);
        } else {
          first = size > 0 ? pack(list[0], argumentBits) : undefined;
          second = size > 1 ? pack(list[1], argumentBits) : undefined;
          third = size > 2 ? pack(list[2], argumentBits) : undefined;
        }
      }
      id = idOfLive(record);
      if (options !== undefined) {
        timeout = readTimeout(options);
        deadline = readDeadline(options);
        signal = readSignal(options, mode, binding.signals);
      }
    } catch (error) {
      return core.refuse(mode, error);
    }
    const call = core.begin(mode, method, signal, site);
    const request = call === undefined ? 0 : call.request;
    let filename;
    let line = 0;
    let column = 0;
    if (origin !== undefined) {
      filename = origin.filename;
      line = origin.lineOffset;
      column = origin.columnOffset;
    }
    let carrier;
    // Written out for common numbers of arguments.
    switch (size) {
      case 0:
        carrier = invoke(OP.EVAL_CLOSURE, mode, request, id, code, filename, line, column, bits, timeout, deadline);
        break;
      case 1:
        carrier = invoke(OP.EVAL_CLOSURE, mode, request, id, code, filename, line, column, bits, timeout, deadline, first);
        break;
      case 2:
        carrier = invoke(OP.EVAL_CLOSURE, mode, request, id, code, filename, line, column, bits, timeout, deadline, first, second);
        break;
      case 3:
        carrier = invoke(
          OP.EVAL_CLOSURE, mode, request, id, code, filename, line, column, bits, timeout, deadline, first, second, third,
        );
        break;
      default:
        carriers[0] = OP.EVAL_CLOSURE;
        carriers[1] = mode;
        carriers[2] = request;
        carriers[3] = id;
        carriers[4] = code;
        carriers[5] = filename;
        carriers[6] = line;
        carriers[7] = column;
        carriers[8] = bits;
        carriers[9] = timeout;
        carriers[10] = deadline;
        carrier = apply(invoke, undefined, carriers);
    }
    return core.conclude(mode, call, carrier, method);
  }

  /** @param {unknown} self */
  function globalOf(self) {
    /** @type {ContextRecord | undefined} */
    const record = contextOf(self);
    if (record === undefined) {
      throw wrongThis();
    }
    if (record.entry === undefined) {
      return undefined;
    }
    if (record.global === undefined) {
      record.global = unpack(invoke(OP.GLOBAL, MODE.SYNC, 0, record.entry.id), Context);
    }
    return record.global;
  }

  const methods = {
    /**
     * @param {string} code
     * @param {any} [options]
     */
    eval(code, options) {
      return evaluate(this, code, options, MODE.ASYNC, methods.eval, arguments.length, callSite(methods.eval));
    },
    /**
     * @param {string} code
     * @param {any} [options]
     */
    evalIgnored(code, options) {
      return evaluate(this, code, options, MODE.IGNORED, methods.evalIgnored, arguments.length);
    },
    /**
     * @param {string} code
     * @param {any} [options]
     */
    evalSync(code, options) {
      const record = contextOf(this);
      if (options === undefined && typeof code === 'string' && record !== undefined && record.entry !== undefined) {
        const carrier = invoke(OP.EVAL, MODE.SYNC, 0, record.entry.id, code, undefined, undefined, undefined, TRANSFER.OR_UNDEFINED);
        return typeof carrier === 'object' && carrier !== null ? unpack(carrier, methods.evalSync) : carrier;
      }
      return evaluate(this, code, options, MODE.SYNC, methods.evalSync, arguments.length);
    },
    /**
     * @param {string} code
     * @param {any} [list]
     * @param {any} [options]
     */
    evalClosure(code, list, options) {
      return evaluateClosure(this, code, list, options, MODE.ASYNC, methods.evalClosure, arguments.length, callSite(methods.evalClosure));
    },
    /**
     * @param {string} code
     * @param {any} [list]
     * @param {any} [options]
     */
    evalClosureIgnored(code, list, options) {
      return evaluateClosure(this, code, list, options, MODE.IGNORED, methods.evalClosureIgnored, arguments.length);
    },
    /**
     * @param {string} code
     * @param {any} [list]
     * @param {any} [options]
     */
    evalClosureSync(code, list, options) {
      return evaluateClosure(this, code, list, options, MODE.SYNC, methods.evalClosureSync, arguments.length);
    },
    get global() {
      return globalOf(this);
    },
    release() {
      const record = recordOfThis(this);
      if (record.entry === undefined) {
        return false;
      }
      entries.leave(record.entry);
      record.entry = undefined;
      // The Reference to the global object is released with its context.
      if (kindOf(record.global) === KIND.REFERENCE) {
        core.releaseReference(record.global);
      }
      return true;
    },
  };

  defineClass(Context, methods, {
    /** Former name of `global`. */
    globalReference() {
      return globalOf(this);
    },
  }, methods.release);
  return { Constructor: Context, adopt };
};
