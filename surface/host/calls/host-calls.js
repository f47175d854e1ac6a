'use strict';
// Calls of the host program's functions, on behalf of guests or of this library. Whatever such a function returns passes through a
// function of this file, so that no promise is left without a handler: an unhandled rejection ends the process. Errors that have no
// receiver are reported.

const { types } = require('node:util');
const { TRANSFER } = require('../../core/protocol.js');
const { keysOf, searchAll, searchBeginning, searchResolved } = require('./promise-search.js');
const { reportUnhandled } = require('./unhandled.js');
const { arriving, NOTHING } = require('../wire/arriving.js');
const { EndOfTurn } = require('../wire/end-of-turn.js');
const { uncloneableOf } = require('../wire/refusal.js');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { hasOwn } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { isMap, isNativeError, isPromise, isProxy, isSet } = types;
const ThePromise = Promise;
const PromisePrototype = Promise.prototype;
const promiseThen = Promise.prototype.then;

/** Kinds of host functions, as reports name them. */
const ORIGIN = Object.freeze({
  CALLBACK: 'callback',
  REFERENCE: 'reference',
  MODULE_RESOLVER: 'module resolver',
  SIGNAL: 'signal',
  LOGGER: 'logger',
  ON_LOG: 'onLog',
  ON_USAGE: 'onUsage',
  TOOL: 'tool',
  CACHE: 'cache',
  EVENT_BUS: 'event bus',
  CONTEXT: 'context',
  TIMER: 'timer',
  CONSOLE: 'console',
  INSPECTOR: 'inspector',
});

/** Most properties of an instance that are searched. */
const MAX_PROPERTIES = 1_000;
/** Most properties and elements of errors that are searched. */
const MAX_PARTS_OF_ERRORS = 50_000;
/** Most thenables that resolve to thenables, nested in each other. */
const MAX_DEPTH = 100;

/** Promises that already have a handler that reports rejections. @type {WeakSet<Promise<unknown>>} */
const discarded = new WeakSet();

/**
 * Reports an error that has no receiver.
 * @param {string} origin one of ORIGIN
 * @param {unknown} error
 */
function report(origin, error) {
  discardThrown(origin, error);
  reportUnhandled(origin, error);
}

/**
 * Calls a function when a promise settles. The promise counts as handled from now on, even if its class replaces `then`.
 * @param {Promise<unknown>} promise
 * @param {((value: unknown) => void) | undefined} onFulfilled like `onRejected`, does not throw
 * @param {(error: unknown) => void} onRejected
 */
function watch(promise, onFulfilled, onRejected) {
  try {
    apply(promiseThen, promise, [onFulfilled, onRejected]);
    return;
  } catch {
    // The promise's constructor cannot make the promise that `then` returns.
  }
  const own = getOwnPropertyDescriptor(promise, 'constructor');
  if (!defineProperty(promise, 'constructor', /** @type {any} */ ({ __proto__: null, value: ThePromise, configurable: true }))) {
    // Nothing can wait for it.
    onRejected(new TypeError('A promise has a constructor with which `then` fails'));
    return;
  }
  apply(promiseThen, promise, [onFulfilled, onRejected]);
  if (own === undefined) {
    deleteProperty(promise, 'constructor');
  } else {
    defineProperty(promise, 'constructor', own);
  }
}

function ignore() {}

/**
 * Discards a value that has no receiver. If it is a promise, or plain data that contains promises, their rejections are reported. Other
 * thenables are left alone, since some only start their work when `then` is called.
 * @param {string} origin
 * @param {unknown} value
 */
function discard(origin, value) {
  // Looking at a proxy runs its traps, and throws if it is revoked.
  if (typeof value !== 'object' || value === null || isProxy(value)) {
    return;
  }
  if (isPromise(value) || isArray(value) || isMap(value) || isSet(value) || isPlain(value)) {
    discardWithin(origin, value);
  } else if (!isView(value)) {
    discardProperties(origin, value);
  }
}

/**
 * Discards the promises in the properties of a class instance. Other objects that it refers to may be large, and belong to the host.
 * @param {string} origin
 * @param {object} instance
 */
function discardProperties(origin, instance) {
  try {
    const keys = keysOf(instance);
    for (let index = 0; index < keys.length && index < MAX_PROPERTIES; index += 1) {
      const part = getOwnPropertyDescriptor(instance, keys[index])?.value;
      if (isPromise(part)) {
        discardPromise(origin, part);
      }
    }
  } catch {
    // An object whose properties cannot be read.
  }
}

/**
 * @param {string} origin
 * @param {Promise<unknown>} promise
 */
function discardPromise(origin, promise) {
  if (!discarded.has(promise)) {
    watch(promise, (inner) => searchResolved(inner, (found) => discardPromise(origin, found), () => discard(origin, inner)), (error) => report(origin, error));
    // Last: a time limit of `node:vm` can end JavaScript before.
    discarded.add(promise);
  }
}

/**
 * Discards the promises of a value that was thrown: itself, the parts of plain data, and of an error its own properties (`cause` for example),
 * the elements of arrays among these (`errors` for example), and the same of the errors that it finds there. If it says that a value cannot be
 * cloned, also those of that value.
 * @param {string} origin
 * @param {unknown} thrown
 */
function discardThrown(origin, thrown) {
  if (!isNativeError(thrown)) {
    discard(origin, thrown);
    return;
  }
  discardWithin(origin, uncloneableOf(thrown));
  /** Errors and arrays to look at. @type {any[]} */
  const holders = [thrown];
  const found = new Set(holders);
  let left = MAX_PARTS_OF_ERRORS;
  for (let at = 0; at < holders.length; at += 1) {
    const holder = holders[at];
    const keys = isArray(holder) ? undefined : ownKeys(holder);
    const { length } = keys ?? holder;
    for (let index = 0; index < length && left > 0; index += 1) {
      left -= 1;
      const key = keys === undefined ? index : keys[index];
      // Reading a stack renders it.
      const part = key === 'stack' ? undefined : getOwnPropertyDescriptor(holder, key)?.value;
      if (isPromise(part)) {
        discardPromise(origin, part);
      } else if (!isProxy(part) && (isNativeError(part) || (isArray(part) && keys !== undefined)) && !found.has(part)) {
        found.add(part);
        holders[holders.length] = part;
      }
    }
  }
}

/** @param {object} object no proxy */
function isPlain(object) {
  const prototype = getPrototypeOf(object);
  return prototype === null || (!isProxy(prototype) && getPrototypeOf(prototype) === null);
}

/**
 * Discards all promises inside a value that could not be passed on, whatever its class, and inside what they resolve to. Getters and
 * proxies are left alone. It does not throw.
 * @param {string} origin
 * @param {unknown} value
 */
function discardWithin(origin, value) {
  searchAll(value, (promise) => discardPromise(origin, promise));
}

/**
 * Discards the promises in what getters have created for a value that could not be written.
 * @param {string} origin
 */
function discardUnwritten(origin) {
  const { unwritten } = arriving;
  arriving.unwritten = undefined;
  if (unwritten !== undefined && unwritten.length > 0) discardWithin(origin, unwritten);
}

/**
 * Handles promises inside a value that will be copied on a later turn. They cannot be copied, and must not reject unhandled before.
 * @param {string} origin
 * @param {unknown} value
 */
function guard(origin, value) {
  searchBeginning(value, (promise) => discardPromise(origin, promise));
}

/** What `arriving` comes from. @type {string} */
let arrivingFrom = ORIGIN.CALLBACK;

/** Discards the promises in what has arrived: JavaScript has ended before they were handled. */
function discardArrived() {
  const { part, value, writer } = arriving;
  arriving.value = undefined;
  arriving.part = undefined;
  arriving.writer = undefined;
  arriving.unwritten = undefined;
  if (value !== undefined) {
    discardWithin(arrivingFrom, value);
    discardWithin(arrivingFrom, part);
    if (writer !== undefined) discardWithin(arrivingFrom, writer.objects());
  }
}

// Before the host looks for rejections without a handler.
const endOfTurn = new EndOfTurn(discardArrived);

/**
 * Call it before each function whose result is noted in `arriving`.
 * @param {string} origin of the function
 */
function expectArrival(origin) {
  arrivingFrom = origin;
  endOfTurn.expect();
}

/**
 * Calls a function, and notes its result. If a time limit has ended a nested call, the function may have caught the error of that call.
 * @param {unknown} outer `arriving.value` at the moment
 * @param {Function} target
 * @param {unknown} receiver
 * @param {any[]} args
 * @returns {any} its result
 */
function applyNoted(outer, target, receiver, args) {
  let result;
  try {
    result = apply(target, receiver, args);
  } catch (error) {
    if (arriving.value !== outer) discardArrived();
    throw error;
  }
  if (arriving.value !== outer) discardArrived();
  if (typeof result === 'object') arriving.value = result;
  return result;
}

/**
 * Calls a function whose result and error have no receiver.
 * @param {string} origin
 * @param {Function} target
 * @param {unknown} receiver
 * @param {any[]} args
 */
function notify(origin, target, receiver, args) {
  const outer = arriving.value;
  expectArrival(origin);
  let result;
  try {
    result = applyNoted(outer, target, receiver, args);
  } catch (error) {
    if (typeof error === 'object') arriving.value = error;
    report(origin, error);
    arriving.value = outer;
    return;
  }
  discard(origin, result);
  arriving.value = outer;
}

/**
 * @param {any} value
 * @returns {value is PromiseLike<unknown>} throws what a getter of the value throws; if it is a promise, it counts as handled then
 */
function isThenable(value) {
  try {
    return ((typeof value === 'object' && value !== null) || typeof value === 'function') && typeof value.then === 'function';
  } catch (error) {
    if (isPromise(value)) {
      watch(value, undefined, ignore);
    }
    throw error;
  }
}

/**
 * A plain `Promise` for any thenable. Unlike `Promise.resolve`, it also handles the promise that an `async then` returns, and the
 * internal state of an instance of a `Promise` subclass that has its own `then`.
 * @param {any} thenable
 * @param {number} [depth] of thenables that resolve to thenables
 * @returns {Promise<any>}
 */
function adopt(thenable, depth = 0) {
  if (isPromise(thenable)) {
    if (getPrototypeOf(thenable) === PromisePrototype && !hasOwn(thenable, 'constructor') && !hasOwn(thenable, 'then')) {
      return thenable;
    }
    watch(thenable, undefined, ignore);
    if (thenable.then === promiseThen) {
      return new ThePromise((resolve, reject) => watch(thenable, resolve, reject));
    }
  }
  return new ThePromise((resolve, reject) => {
    /** @param {unknown} value */
    const fulfilled = (value) => {
      try {
        if (depth > MAX_DEPTH) {
          throw new RangeError('Thenables resolve to thenables endlessly');
        }
        resolve(isThenable(value) ? adopt(value, depth + 1) : value);
      } catch (error) {
        reject(error);
      }
    };
    /** @type {unknown} */
    const returned = apply(thenable.then, thenable, [fulfilled, reject]);
    if (isPromise(returned)) {
      watch(returned, undefined, reject);
    }
  });
}

/**
 * Passes on what a host function returned, or what its promise resolved to. A promise is discarded unless the bits say that the receiver
 * can wait for it. Promises inside a value that cannot be passed on are discarded, too.
 * @template T
 * @param {(value: unknown, bits: number) => T} pass
 * @param {unknown} value
 * @param {number} bits of TRANSFER
 * @param {string} origin one of ORIGIN
 * @returns {T} what `pass` returns
 */
function passOn(pass, value, bits, origin) {
  let passed;
  arriving.unwritten = NOTHING;
  try {
    passed = pass(value, bits);
  } catch (error) {
    discardWithin(origin, value);
    discardWithin(origin, uncloneableOf(error));
    discardUnwritten(origin);
    arriving.part = undefined;
    throw error;
  }
  arriving.unwritten = undefined;
  arriving.part = undefined;
  if (typeof value === 'object' && (bits & TRANSFER.PROMISE) === 0 && isPromise(value)) {
    discard(origin, value);
  }
  return passed;
}

module.exports = { adopt, applyNoted, discard, discardArrived, discardThrown, discardUnwritten, discardWithin, expectArrival, guard, isThenable, notify, ORIGIN, passOn, report };
