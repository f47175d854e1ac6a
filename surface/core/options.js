'use strict';
// Validation of arguments and options, with isolated-vm's messages. Positional arguments are checked first and throw in every mode. Options
// are read inside the call, so that asynchronous methods reject. An option that is `null` or `undefined` has its default. Any other value
// must have exactly the right type: nothing is coerced.

const { cutOff, Error, freeze, isArray, sameValue, TypeError } = require('./primordials.js');
const { contextOf, kindOf, recordOf } = require('./handle.js');
const { FILENAME, KIND, MESSAGE, MIN_MEMORY, MODE, TRANSFER } = require('./protocol.js');
const { CODE, coded, invalid } = require('./error.js');

/**
 * @param {number} count arguments required
 * @param {string} [callee] `undefined` for methods, as in isolated-vm; the name for constructors
 */
const tooFew = (count, callee = 'undefined') =>
  invalid(`\`${callee}\` requires at least ${count} parameter${count === 1 ? '' : 's'}`);

/**
 * @param {number} index from 1
 * @param {string} type
 * @param {string} [callee]
 */
const wrongParameter = (index, type, callee = 'undefined') =>
  invalid(`\`${callee}\` requires parameter ${index} to be ${type}`);

/** A method was called on a receiver of another class. */
const illegalInvocation = () => invalid('Illegal invocation');

/** A getter was called on a receiver of another class. */
const wrongThis = () => invalid('`undefined` requires `this` to be something else');

/**
 * @param {string} key
 * @param {string} type
 */
const wrongOption = (key, type) => invalid(`\`${key}\` must be ${type}`);

/**
 * @param {unknown} value
 * @returns {value is object}
 */
function isObject(value) {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/**
 * The options argument: an object, or `undefined` for none.
 * @param {unknown} options
 * @param {number} index of the parameter, from 1
 * @param {string} [callee]
 * @returns {any}
 */
function optionsArgument(options, index, callee) {
  if (options === undefined || options === null) {
    return undefined;
  }
  if (!isObject(options)) {
    throw wrongParameter(index, 'an object', callee);
  }
  return options;
}

/**
 * @param {unknown} list
 * @param {number} index of the parameter, from 1
 * @returns {ArrayLike<unknown> | undefined}
 */
function arrayArgument(list, index) {
  if (list === undefined || list === null) {
    return undefined;
  }
  if (!isArray(list)) {
    throw wrongParameter(index, 'an array');
  }
  return list;
}

/**
 * The private record of an argument that must be a `Context`.
 * @param {unknown} value
 * @param {number} index of the parameter, from 1
 * @returns {any}
 */
function contextArgument(value, index) {
  const record = contextOf(value);
  if (record === undefined) {
    throw wrongParameter(index, isObject(value) ? 'something else' : 'an object');
  }
  return record;
}

// These get the value itself: engines read a property fast where its name is written, and slowly where many names occur.

/**
 * @param {unknown} value of an option
 * @param {string} key
 * @returns {boolean} false by default
 */
function booleanOption(value, key) {
  if (typeof value === 'boolean') {
    return value;
  }
  if (value === undefined || value === null) {
    return false;
  }
  throw wrongOption(key, 'a boolean');
}

/**
 * @param {any} options
 * @param {string} key
 * @returns {number} 0 by default
 */
function readInt32(options, key) {
  const value = options[key];
  return value === undefined || value === null ? 0 : checkInt32(value, key);
}

/**
 * @param {unknown} value
 * @param {string} key
 * @returns {number}
 */
function checkInt32(value, key) {
  // V8 does not treat -0 as a 32-bit number.
  if (typeof value === 'number' && sameValue(value | 0, value)) {
    return value;
  }
  throw wrongOption(key, 'a 32-bit number');
}

/**
 * @template T
 * @param {any} options
 * @param {string} key
 * @param {T} otherwise
 * @returns {string | T}
 */
function readString(options, key, otherwise) {
  const value = options[key];
  if (typeof value === 'string') {
    return value;
  }
  if (value === undefined || value === null) {
    return otherwise;
  }
  throw wrongOption(key, 'a string');
}

/**
 * @template T
 * @param {any} options
 * @param {string} key
 * @param {T} otherwise
 * @returns {number | T}
 */
function readNumber(options, key, otherwise) {
  const value = options[key];
  if (typeof value === 'number') {
    return value;
  }
  if (value === undefined || value === null) {
    return otherwise;
  }
  throw wrongOption(key, 'a number');
}

/**
 * @param {any} value of an option
 * @param {string} key
 * @returns {any} undefined by default
 */
function objectOption(value, key) {
  if (value === undefined || value === null) {
    return undefined;
  }
  if (!isObject(value)) {
    throw wrongOption(key, 'an object');
  }
  return value;
}

/**
 * @param {any} options
 * @param {string} key
 * @returns {((...args: any[]) => any) | undefined}
 */
function readFunction(options, key) {
  const value = options[key];
  if (value === undefined || value === null) {
    return undefined;
  }
  if (typeof value !== 'function') {
    throw wrongOption(key, 'a function');
  }
  return value;
}

/**
 * @param {any} options
 * @param {string} key
 * @returns {ArrayLike<unknown> | undefined}
 */
function readArray(options, key) {
  const value = options[key];
  if (value === undefined || value === null) {
    return undefined;
  }
  if (!isArray(value)) {
    throw wrongOption(key, 'an array');
  }
  return value;
}

/** The call sets no limit: that of `configureEngine` applies, if there is one. */
const UNSET = 0;
/** No limit, whatever `configureEngine` has set. */
const UNLIMITED = -1;

/**
 * Milliseconds that guest code may run, UNSET, or UNLIMITED. Negative numbers are accepted and set no limit, as in isolated-vm.
 * @param {any} options
 * @returns {number}
 */
function readTimeout(options) {
  const { timeout } = options;
  if (timeout === undefined || timeout === null) {
    return UNSET;
  }
  const limit = checkInt32(timeout, 'timeout');
  return limit > 0 ? limit : UNLIMITED;
}

/**
 * Milliseconds of elapsed time until the call ends, including waiting for the host; UNSET, or UNLIMITED for 0. Not in isolated-vm.
 * @param {any} options
 * @returns {number}
 */
function readDeadline(options) {
  const { deadline } = options;
  if (deadline === undefined || deadline === null) {
    return UNSET;
  }
  const limit = checkInt32(deadline, 'deadline');
  if (limit < 0) {
    throw wrongOption('deadline', 'at least 0');
  }
  return limit > 0 ? limit : UNLIMITED;
}

/**
 * The signal that may abort the call. Throws its reason if it has been aborted already.
 * @param {any} options
 * @param {number} mode
 * @param {import('../index.js').Signals | undefined} signals
 * @returns {any} undefined by default
 */
function readSignal(options, mode, signals) {
  const { signal } = options;
  if (signal === undefined || signal === null) {
    return undefined;
  }
  if (signals === undefined) {
    throw coded(Error, '`signal` is not available inside isolates', CODE.UNSUPPORTED);
  }
  if (!signals.isSignal(signal)) {
    throw wrongOption('signal', 'an AbortSignal');
  }
  if (mode !== MODE.ASYNC) {
    throw coded(/** @type {ErrorConstructor} */ (TypeError), '`signal` can only abort asynchronous calls; `timeout` and `deadline` limit all', CODE.INVALID_ARG);
  }
  if (signal.aborted) {
    throw signals.reason(signal);
  }
  return signal;
}

/**
 * The transfer options as `TRANSFER` bits.
 * @param {any} options undefined for none
 * @param {number} fallback the bits for a value that is not transferable
 * @returns {number}
 */
function readTransfer(options, fallback) {
  if (options === undefined) {
    return fallback;
  }
  const copy = booleanOption(options.copy, 'copy');
  const externalCopy = booleanOption(options.externalCopy, 'externalCopy');
  const reference = booleanOption(options.reference, 'reference');
  let bits = fallback;
  if (copy) {
    bits |= TRANSFER.COPY;
  }
  if (externalCopy) {
    bits |= TRANSFER.EXTERNAL_COPY;
  }
  if (reference) {
    bits |= TRANSFER.REFERENCE;
  }
  // REFERENCE has the bits of both others, so the bits do not show how many were set.
  if ((copy ? 1 : 0) + (externalCopy ? 1 : 0) + (reference ? 1 : 0) > 1) {
    throw invalid('Only one of `copy`, `externalCopy`, or `reference` may be set');
  }
  if (booleanOption(options.promise, 'promise')) {
    bits |= TRANSFER.PROMISE;
    // A promise of `undefined` would hide that the value cannot be transferred.
    if (fallback === TRANSFER.OR_UNDEFINED) {
      bits &= ~TRANSFER.OR_UNDEFINED;
    }
  }
  return bits;
}

/** The origin of code, and its compilation cache. */
class Origin {
  /** @param {any} options */
  constructor(options) {
    this.filename = readString(options, 'filename', FILENAME);
    this.columnOffset = readInt32(options, 'columnOffset');
    this.lineOffset = readInt32(options, 'lineOffset');
    this.produceCachedData = booleanOption(options.produceCachedData, 'produceCachedData');
    this.cachedData = readCopyOfBuffer(options, 'cachedData');
  }
}
cutOff(Origin);

/**
 * An `ExternalCopy`, which the native side requires to hold an ArrayBuffer.
 * @param {any} options
 * @param {string} key
 * @returns {object | undefined}
 */
function readCopyOfBuffer(options, key) {
  const value = objectOption(options[key], key);
  if (value !== undefined && (kindOf(value) !== KIND.EXTERNAL_COPY || recordOf(value, KIND.EXTERNAL_COPY).type === 'other')) {
    throw invalid(`\`${key}\` must be an ExternalCopy to ArrayBuffer`);
  }
  return value;
}

/**
 * The `snapshot` of an isolate's options.
 * @param {any} options
 * @returns {object | undefined}
 */
function readSnapshot(options) {
  const snapshot = readCopyOfBuffer(options, 'snapshot');
  if (snapshot !== undefined && recordOf(snapshot, KIND.EXTERNAL_COPY).entry === undefined) {
    throw invalid(MESSAGE.NOT_A_SNAPSHOT);
  }
  return snapshot;
}

module.exports = freeze({
  arrayArgument, booleanOption, contextArgument, FILENAME, illegalInvocation, isObject, MIN_MEMORY, objectOption, optionsArgument, Origin, readArray,
  readDeadline, readFunction, readInt32, readNumber, readSignal, readSnapshot, readString, readTimeout, readTransfer,
  tooFew, wrongParameter, wrongThis,
});
