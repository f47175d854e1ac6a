'use strict';
// Calls of the host program's functions, on behalf of guests or of this library. Wherever one is called, what it returns goes
// through a function of this file: no promise that it returns is left without a handler, since an unhandled rejection ends
// the process. Errors that nobody can receive are reported.

const { channel } = require('node:diagnostics_channel');
const { emitWarning } = require('node:process');
const { types } = require('node:util');
const { TRANSFER } = require('../protocol.js');
const { culpritOf } = require('./wire/refusal.js');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { hasOwn } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { isMap, isPromise, isProxy, isSet } = types;
const { entries: mapEntries } = Map.prototype;
const { values: setValues } = Set.prototype;
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
/**
 * Parts of one value that are searched for promises. A guest may choose how many a function returns, and each that is missed can end
 * the process.
 */
const MAX_PARTS = 1_000_000;
/** Elements of an array whose keys are listed. */
const MAX_KEYED = 1_000;
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
  if (isPromise(value) || isArray(value) || isMap(value) || isSet(value) || isPlain(value)) {
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
  const search = new Search(origin);
  search.add(value);
  search.run();
}

/** Of promises, inside of one value. */
class Search {
  /** @type {Set<object>} what is searched, promises excepted */
  #found = new Set();
  /** Parts of objects that are still looked at. */
  #left = MAX_PARTS;
  #origin;

  /** @param {string} origin */
  constructor(origin) {
    this.#origin = origin;
  }

  /** @param {unknown} value */
  add(value) {
    if (typeof value !== 'object' || value === null) {
      return;
    }
    if (isPromise(value)) {
      this.#discard(value);
    } else if (!isProxy(value) && !isView(value)) {
      this.#found.add(value);
    }
  }

  run() {
    for (const object of this.#found) {
      if (this.#left <= 0) {
        return;
      }
      try {
        this.#addParts(object);
      } catch {
        // An object whose properties cannot be looked at, such as the namespace of a module that has not been evaluated.
      }
    }
  }

  /** @param {Promise<unknown>} promise */
  #discard(promise) {
    if (!discarded.has(promise)) {
      discarded.add(promise);
      watch(promise, (inner) => discard(this.#origin, inner), (error) => report(this.#origin, error));
    }
  }

  /** @param {object} object */
  #addParts(object) {
    if (isMap(object)) {
      for (const [key, part] of apply(mapEntries, object, [])) {
        if (!this.#look()) return;
        this.add(key);
        this.add(part);
      }
    } else if (isSet(object)) {
      for (const part of apply(setValues, object, [])) {
        if (!this.#look()) return;
        this.add(part);
      }
    }
    // The elements of an array may be too many to list their keys.
    const elements = isArray(object) && object.length > MAX_KEYED ? object.length : 0;
    for (let index = 0; index < elements; index += 1) {
      if (!this.#look()) return;
      if (hasOwn(object, index)) this.add(getOwnPropertyDescriptor(object, index)?.value);
    }
    for (const key of elements > 0 ? [] : ownKeys(object)) {
      if (!this.#look()) return;
      this.add(getOwnPropertyDescriptor(object, key)?.value);
    }
  }

  #look() {
    this.#left -= 1;
    return this.#left >= 0;
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

/**
 * Passes on what a host function has returned, or its promise resolved to. A promise is discarded unless the bits say that the receiver
 * can wait for it, and so are promises inside of what cannot be passed on.
 * @template T
 * @param {(value: unknown, bits: number) => T} pass
 * @param {unknown} value
 * @param {number} bits of TRANSFER
 * @param {string} origin one of ORIGIN
 * @returns {T} what `pass` returns
 */
function passOn(pass, value, bits, origin) {
  let passed;
  try {
    passed = pass(value, bits);
  } catch (error) {
    discardWithin(origin, value);
    discardWithin(origin, culpritOf(error));
    throw error;
  }
  if (typeof value === 'object' && (bits & TRANSFER.PROMISE) === 0 && isPromise(value)) {
    discard(origin, value);
  }
  return passed;
}

module.exports = { adopt, discard, discardWithin, isThenable, notify, ORIGIN, passOn, report };
