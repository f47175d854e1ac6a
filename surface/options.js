'use strict';
// Checks of arguments and options, with isolated-vm's messages. Positional arguments are checked before anything else and
// throw in every mode; options are read inside the call, so that asynchronous methods reject. An option that is `null` or
// `undefined` is at its default; everything else must have exactly the right type: nothing is coerced.

const { cutOff, Error, freeze, isArray, sameValue, TypeError } = require('./primordials.js');
const { kindOf, recordOf } = require('./handle.js');
const { KIND, MODE, TRANSFER } = require('./protocol.js');
const { CODE, coded, invalid } = require('./error.js');

/** The least `memoryLimit` in megabytes. */
const MIN_MEMORY = 8;

/** The resource name of code without one. */
const FILENAME = '<isolated-vm>';

/**
 * @param {number} count arguments required
 * @param {string} [callee] methods go by `undefined`, as in the original; constructors have their name
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

/** A method was called on something that is not of its class. */
const illegalInvocation = () => invalid('Illegal invocation');

/** A getter was called on something that is not of its class. */
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
 * The private record of an argument that must be a handle.
 * @param {unknown} value
 * @param {number} kind
 * @param {number} index of the parameter, from 1
 * @returns {any}
 */
function handleArgument(value, kind, index) {
  const record = recordOf(value, kind);
  if (record === undefined) {
    throw wrongParameter(index, isObject(value) ? 'something else' : 'an object');
  }
  return record;
}

/**
 * @param {any} options
 * @param {string} key
 * @returns {boolean} false by default
 */
function readBoolean(options, key) {
  const value = options[key];
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
  // -0 is no 32-bit number to V8, and so not here either.
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
 * @param {any} options
 * @param {string} key
 * @returns {any} undefined by default
 */
function readObject(options, key) {
  const value = options[key];
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

/** A limit for which nothing was said: the engine's own holds, if it has one. */
const UNSAID = 0;
/** No limit, whatever the engine's own is. */
const UNLIMITED = -1;

/**
 * Milliseconds that guest code may run, UNSAID, or UNLIMITED. Negative numbers are accepted and limit nothing, as in the
 * original.
 * @param {any} options
 * @returns {number}
 */
function readTimeout(options) {
  const { timeout } = options;
  if (timeout === undefined || timeout === null) {
    return UNSAID;
  }
  const limit = checkInt32(timeout, 'timeout');
  return limit > 0 ? limit : UNLIMITED;
}

/**
 * Milliseconds by the wall clock until the call ends, UNSAID, or UNLIMITED for 0. Ours; waiting on the host counts too.
 * @param {any} options
 * @returns {number}
 */
function readDeadline(options) {
  const { deadline } = options;
  if (deadline === undefined || deadline === null) {
    return UNSAID;
  }
  const limit = checkInt32(deadline, 'deadline');
  if (limit < 0) {
    throw wrongOption('deadline', 'at least 0');
  }
  return limit > 0 ? limit : UNLIMITED;
}

/**
 * What may abort the call. Throws the reason of one that has been aborted already.
 * @param {any} options
 * @param {number} mode
 * @param {import('./index.js').Signals | undefined} signals
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
 * @param {number} fallback the bits for what is not transferable
 * @returns {number}
 */
function readTransfer(options, fallback) {
  if (options === undefined) {
    return fallback;
  }
  const copy = readBoolean(options, 'copy');
  const externalCopy = readBoolean(options, 'externalCopy');
  const reference = readBoolean(options, 'reference');
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
  // Reference has both bits of the other two, so a sum tells what the bits cannot.
  if ((copy ? 1 : 0) + (externalCopy ? 1 : 0) + (reference ? 1 : 0) > 1) {
    throw invalid('Only one of `copy`, `externalCopy`, or `reference` may be set');
  }
  if (readBoolean(options, 'promise')) {
    bits |= TRANSFER.PROMISE;
    // A promise for nothing would hide the refusal.
    if (fallback === TRANSFER.OR_UNDEFINED) {
      bits &= ~TRANSFER.OR_UNDEFINED;
    }
  }
  return bits;
}

/** Where code comes from, and its compilation cache. */
class Origin {
  /** @param {any} options */
  constructor(options) {
    this.filename = readString(options, 'filename', FILENAME);
    this.columnOffset = readInt32(options, 'columnOffset');
    this.lineOffset = readInt32(options, 'lineOffset');
    this.produceCachedData = readBoolean(options, 'produceCachedData');
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
  const value = readObject(options, key);
  if (value !== undefined && (kindOf(value) !== KIND.EXTERNAL_COPY || recordOf(value, KIND.EXTERNAL_COPY).type === 'other')) {
    throw invalid(`\`${key}\` must be an ExternalCopy to ArrayBuffer`);
  }
  return value;
}

module.exports = freeze({
  arrayArgument, FILENAME, handleArgument, illegalInvocation, isObject, MIN_MEMORY, optionsArgument, Origin, readArray, readBoolean,
  readCopyOfBuffer, readDeadline, readFunction, readInt32, readNumber, readObject, readSignal, readString, readTimeout, readTransfer,
  tooFew, wrongParameter, wrongThis,
});
