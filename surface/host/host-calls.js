'use strict';
// Calls of the host program's functions, on behalf of guests or of this library. Wherever one is called, what it returns goes
// through a function of this file: no promise that it returns is left without a handler, since an unhandled rejection ends
// the process. Errors that nobody can receive are reported.

const { channel } = require('node:diagnostics_channel');
const { emitWarning } = require('node:process');
const { types } = require('node:util');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { hasOwn } = Object;
const { isArray } = Array;
const { isMap, isPromise, isProxy, isSet } = types;
const ThePromise = Promise;
const PromisePrototype = Promise.prototype;
const promiseThen = Promise.prototype.then;

/** The channel of `diagnostics_channel`, and the code of the process warning. Both are documented. */
const CHANNEL = 'isolated-v8:unhandled-host-error';
const WARNING = 'ISOLATED_V8_UNHANDLED_HOST_ERROR';

/** What kind of host function has failed, as reports name it. */
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
});

/** Characters of an error that a warning shows. */
const MAX_MESSAGE = 1_000;
const MAX_STACK = 4_000;
/** Values that are searched for promises. */
const MAX_VALUES = 1_000;
/** Thenables that resolve to thenables, one in the other. */
const MAX_DEPTH = 100;

const failures = channel(CHANNEL);
/** Promises whose rejections are reported already. @type {WeakSet<Promise<unknown>>} */
const discarded = new WeakSet();
/** Origins that have been warned of. @type {Set<string>} */
const warned = new Set();

/**
 * Reports an error that nobody can receive: to the subscribers of the diagnostics channel, or, where there are none, as a process
 * warning, the first of each origin.
 * @param {string} origin one of ORIGIN
 * @param {unknown} error
 */
function report(origin, error) {
  if (failures.hasSubscribers) {
    try {
      failures.publish({ error, origin });
    } catch {
      // The subscriber is the host's.
    }
    return;
  }
  if (warned.has(origin)) {
    return;
  }
  warned.add(origin);
  try {
    const text = `A host function (${origin}) failed, and nobody can receive its error: ${textOf(error, 'message', MAX_MESSAGE)}. Subscribe to the diagnostics channel '${CHANNEL}' for all such errors.`;
    emitWarning(text, /** @type {any} */ ({ __proto__: null, code: WARNING, detail: textOf(error, 'stack', MAX_STACK) }));
  } catch {
    // A host that has no warnings.
  }
}

/**
 * A part of an error as text that a terminal can show.
 * @param {any} error
 * @param {string} key
 * @param {number} length
 * @returns {string}
 */
function textOf(error, key, length) {
  try {
    const isObject = typeof error === 'object' && error !== null;
    const text = isObject && typeof error[key] === 'string' ? error[key] : String(error);
    return text.slice(0, length).replaceAll(/[^\P{Cc}\n\t]/gu, '');
  } catch {
    return 'an error that has no text';
  }
}

/**
 * Has a function called when a promise settles. The promise counts as handled from now on, whatever its class makes of `then`.
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
 * Nobody receives a value: where it is a promise, or plain data with promises in it, rejections are reported. Other thenables
 * are left alone, as there are some that only begin their work when `then` is called.
 * @param {string} origin
 * @param {unknown} value
 */
function discard(origin, value) {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  if (isPromise(value) || isArray(value) || isPlain(value)) {
    discardWithin(origin, value);
  }
}

/** @param {object} object */
function isPlain(object) {
  if (isProxy(object)) {
    return false;
  }
  const prototype = getPrototypeOf(object);
  return prototype === null || (!isProxy(prototype) && getPrototypeOf(prototype) === null);
}

/**
 * The same for all promises inside of a value of any class that could not be passed on, and inside of what they resolve to.
 * Getters and proxies are left alone. It does not throw.
 * @param {string} origin
 * @param {unknown} value
 */
function discardWithin(origin, value) {
  try {
    discardParts(origin, value);
  } catch {
    // An object whose properties cannot be looked at, such as the namespace of a module that has not been evaluated.
  }
}

/**
 * @param {string} origin
 * @param {unknown} value
 */
function discardParts(origin, value) {
  /** @type {Set<unknown>} */
  const found = new Set([value]);
  for (const each of found) {
    if (isPromise(each)) {
      if (discarded.has(each)) {
        continue;
      }
      discarded.add(each);
      watch(each, (inner) => discard(origin, inner), (error) => report(origin, error));
    } else if (typeof each === 'object' && each !== null && !isProxy(each)) {
      addParts(found, each);
    }
    if (found.size > MAX_VALUES) {
      return;
    }
  }
}

/**
 * @param {Set<unknown>} found
 * @param {any} object
 */
function addParts(found, object) {
  if (isMap(object) || isSet(object)) {
    for (const part of isMap(object) ? [...object.keys(), ...object.values()] : object) {
      found.add(part);
    }
  }
  if (ArrayBuffer.isView(object)) {
    return;
  }
  // The elements of an array may be many, and are looked at first.
  const elements = isArray(object) ? Math.min(object.length, MAX_VALUES) : 0;
  for (let index = 0; index < elements; index += 1) {
    addPart(found, object, index);
  }
  for (const key of elements === MAX_VALUES ? [] : ownKeys(object)) {
    addPart(found, object, key);
    if (found.size > MAX_VALUES) {
      return;
    }
  }
}

/**
 * @param {Set<unknown>} found
 * @param {object} object
 * @param {PropertyKey} key
 */
function addPart(found, object, key) {
  const part = getOwnPropertyDescriptor(object, key)?.value;
  if (typeof part === 'object' && part !== null) {
    found.add(part);
  }
}

/**
 * Calls a function whose result and error nobody receives.
 * @param {string} origin
 * @param {Function} target
 * @param {unknown} receiver
 * @param {any[]} args
 */
function notify(origin, target, receiver, args) {
  let result;
  try {
    result = apply(target, receiver, args);
  } catch (error) {
    report(origin, error);
    return;
  }
  discard(origin, result);
}

/**
 * @param {any} value
 * @returns {value is PromiseLike<unknown>} throws what a getter of the value throws
 */
const isThenable = (value) => ((typeof value === 'object' && value !== null) || typeof value === 'function') && typeof value.then === 'function';

/**
 * A promise of the language's own for any thenable. Unlike `Promise.resolve` it also handles the promise that an `async then`
 * returns, and the state that an instance of a promise's subclass has beside its own `then`.
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
          throw new RangeError('Thenables resolve to thenables without end');
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

module.exports = { adopt, discard, discardWithin, isThenable, notify, ORIGIN, report };
