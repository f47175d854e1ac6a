'use strict';
// Calls of the host program's functions, on behalf of guests or of this library. Wherever one is called, what it returns goes
// through a function of this file: no promise that it returns is left without a handler, since an unhandled rejection ends
// the process. Errors that nobody can receive are reported.

const { channel } = require('node:diagnostics_channel');
const { emitWarning } = require('node:process');
const { types } = require('node:util');
const { thrownText } = require('../error.js');
const { TRANSFER } = require('../protocol.js');
const { culpritOf } = require('./wire/refusal.js');
const { Work } = require('./work.js');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { hasOwn } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { isMap, isPromise, isProxy, isSet } = types;
const { entries: mapEntries } = Map.prototype;
const { values: setValues } = Set.prototype;
const { next: nextEntry } = /** @type {any} */ (getPrototypeOf(new Map().entries()));
const { next: nextMember } = /** @type {any} */ (getPrototypeOf(new Set().values()));
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
/** Parts of one value that are searched for promises. A guest may choose how many a function returns. */
const MAX_PARTS = 1_000_000;
/**
 * Parts other than promises that are searched at once. The others follow on later turns of the event loop. A promise there is handled
 * unless it is rejected by then.
 */
const MAX_PARTS_AT_ONCE = 50_000;
/** Values of which parts are left. A guest may have more of them discarded, and each is kept until it is searched. */
const MAX_UNFINISHED = 8;
/** Parts between two looks at the clock. */
const PARTS_PER_CHECK = 1_000;
/** Elements of an array whose keys are listed. */
const MAX_KEYED = 1_000;
/** Thenables that resolve to thenables, one in the other. */
const MAX_DEPTH = 100;

/** @type {readonly string[]} */
const NO_KEYS = Object.freeze([]);

const failures = channel(CHANNEL);
/** Searches that go on. */
let unfinished = 0;
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
    const text = isObject && typeof error[key] === 'string' ? error[key] : thrownText(error);
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
  } else if (!isProxy(value) && !isView(value)) {
    discardProperties(origin, value);
  }
}

/**
 * The promises that an instance of a class has in properties. What else it refers to may be large, and the host's own.
 * @param {string} origin
 * @param {object} instance
 */
function discardProperties(origin, instance) {
  try {
    const keys = ownKeys(instance);
    for (let index = 0; index < keys.length && index < MAX_KEYED; index += 1) {
      const part = getOwnPropertyDescriptor(instance, keys[index])?.value;
      if (isPromise(part)) {
        discardPromise(origin, part);
      }
    }
  } catch {
    // An object whose properties cannot be looked at.
  }
}

/**
 * @param {string} origin
 * @param {Promise<unknown>} promise
 */
function discardPromise(origin, promise) {
  if (!discarded.has(promise)) {
    discarded.add(promise);
    watch(promise, (inner) => discard(origin, inner), (error) => report(origin, error));
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
  const search = new Search(origin, value);
  if (!search.run(MAX_PARTS_AT_ONCE) && unfinished < MAX_UNFINISHED) {
    search.finish();
  }
}

/** Of promises, inside of one value. */
class Search {
  /** Parts of objects that are still looked at. */
  #left = MAX_PARTS;
  /** Those before the search pauses. */
  #ahead = 0;
  #origin;
  /** @type {Set<object>} what is searched, promises excepted */
  #found = new Set();
  #objects = apply(setValues, this.#found, []);
  /** What is searched now. @type {any} */
  #object = undefined;
  /** Its entries or members that are left, if it is a map or set. @type {any} */
  #members = undefined;
  /** Number of its next element, where those are too many to list their keys, and how many it has. */
  #index = 0;
  #length = 0;
  /** Its other keys, and the position of the next. @type {readonly (string | symbol)[]} */
  #keys = NO_KEYS;
  #position = 0;

  /**
   * @param {string} origin
   * @param {unknown} value
   */
  constructor(origin, value) {
    this.#origin = origin;
    this.#add(value);
  }

  /**
   * Searches on.
   * @param {number} parts that are looked at, promises excepted
   * @returns {boolean} whether it is over
   */
  run(parts) {
    this.#ahead = parts;
    while (this.#left > 0) {
      if (this.#ahead <= 0) {
        return false;
      }
      try {
        if (this.#object === undefined ? !this.#open() : !this.#look()) {
          return true;
        }
      } catch {
        // An object whose properties cannot be looked at, such as the namespace of a module that has not been evaluated.
        this.#object = undefined;
      }
    }
    return true;
  }

  /** Searches the rest on other turns of the event loop. */
  async finish() {
    unfinished += 1;
    const work = new Work();
    do {
      await work.turn();
    } while (!this.#runSlice(work));
    unfinished -= 1;
  }

  /** @param {import('./work.js').WorkBudget} work */
  #runSlice(work) {
    while (!this.run(PARTS_PER_CHECK)) {
      work.check();
      if (work.isSliceOver) {
        return false;
      }
    }
    return true;
  }

  /** @param {unknown} value */
  #add(value) {
    if (typeof value !== 'object' || value === null) {
      return;
    }
    if (isPromise(value)) {
      // It costs no more than making it has, and one that is missed can end the process.
      this.#ahead += 1;
      discardPromise(this.#origin, value);
    } else if (!isProxy(value) && !isView(value)) {
      this.#found.add(value);
    }
  }

  /** Begins with the next object; false where there is none. */
  #open() {
    const { done, value } = apply(nextMember, this.#objects, []);
    if (done) {
      return false;
    }
    this.#object = value;
    this.#members = isMap(value) ? apply(mapEntries, value, []) : isSet(value) ? apply(setValues, value, []) : undefined;
    this.#index = 0;
    this.#length = isArray(value) && value.length > MAX_KEYED ? value.length : 0;
    this.#position = 0;
    this.#keys = NO_KEYS;
    this.#keys = this.#length > 0 ? NO_KEYS : ownKeys(value);
    return true;
  }

  /** Looks at one part of the object, or leaves it. */
  #look() {
    this.#left -= 1;
    this.#ahead -= 1;
    const object = this.#object;
    if (this.#members !== undefined) {
      this.#lookAtMember();
    } else if (this.#index < this.#length) {
      const index = this.#index++;
      if (hasOwn(object, index)) {
        this.#add(getOwnPropertyDescriptor(object, index)?.value);
      }
    } else if (this.#position < this.#keys.length) {
      const key = this.#keys[this.#position++];
      this.#add(getOwnPropertyDescriptor(object, key)?.value);
    } else {
      this.#object = undefined;
    }
    return true;
  }

  #lookAtMember() {
    const isOfMap = isMap(this.#object);
    const { done, value } = apply(isOfMap ? nextEntry : nextMember, this.#members, []);
    if (done) {
      this.#members = undefined;
    } else if (isOfMap) {
      this.#add(value[0]);
      this.#add(value[1]);
    } else {
      this.#add(value);
    }
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
