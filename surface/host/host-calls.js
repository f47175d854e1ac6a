'use strict';
// Calls of the host program's functions, on behalf of guests or of this library. Whatever such a function returns passes through a
// function of this file, so that no promise is left without a handler: an unhandled rejection ends the process. Errors that have no
// receiver are reported.

const { types } = require('node:util');
const { TRANSFER } = require('../core/protocol.js');
const { now, setImmediate } = require('./clock.js');
const { reportUnhandled } = require('./unhandled.js');
const { noteOf } = require('./wire/notes.js');
const { culpritOf } = require('./wire/refusal.js');
const { Work } = require('./work.js');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { hasOwn } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { isMap, isNativeError, isPromise, isProxy, isSet, isStringObject } = types;
const { entries: mapEntries } = Map.prototype;
const { values: setValues } = Set.prototype;
const { next: nextEntry } = /** @type {any} */ (getPrototypeOf(new Map().entries()));
const { next: nextMember } = /** @type {any} */ (getPrototypeOf(new Set().values()));
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

/** Most parts of one value that are searched for promises. A guest may choose how many parts a function returns. */
const MAX_PARTS = 1_000_000;
/**
 * Most parts other than promises that are searched at once. The others follow on later turns of the event loop. A promise among those is
 * handled unless it rejects before.
 */
const MAX_PARTS_AT_ONCE = 50_000;
/** Most parts that are searched of a value that waits for its turn. */
const MAX_GUARDED_PARTS = 1_000;
/**
 * Milliseconds of searching, in one turn of the event loop, what promises resolve to, and of those that need no new turn. A guest decides how many
 * promises settle at once. Of the values that follow, only the first parts are searched, however busy the machine is: this takes no longer than the
 * calls themselves, and without it a promise that has rejected would end the process.
 */
const MAX_SEARCHING = 40;
const FIRST_PARTS = 32;
/** Most keys of objects that are listed in one turn for such searches to begin: an object with many is listed as a whole. */
const MAX_LISTED = 1_000_000;
const UNNOTICED = 1;
/** Most values that are searched on later turns. A guest can cause more to be discarded, and each is kept until it is searched. */
const MAX_UNFINISHED = 8;
/** Parts between two checks of the clock. */
const PARTS_PER_CHECK = 1_000;
/** Most elements of an array whose keys are listed, and most properties of an instance that are searched. */
const MAX_KEYED = 1_000;
/** Most thenables that resolve to thenables, nested in each other. */
const MAX_DEPTH = 100;

/** @type {readonly string[]} */
const NO_KEYS = Object.freeze([]);

/**
 * The keys of the properties that may hold a promise. Hosts return and throw what guests have sent: listing the keys of a large object, or of a
 * string's characters, would take long.
 * @param {object} object
 * @returns {ArrayLike<any>}
 */
const keysOf = (object) => noteOf(object)?.keys ?? (isStringObject(object) ? NO_KEYS : ownKeys(object));

/** Searches that continue on later turns. */
let unfinished = 0;
/** Milliseconds of searching what promises resolve to, in this turn of the event loop. */
let searching = 0;
/** Keys that were listed since the last complete search. */
let listed = 0;
let isTurnScheduled = false;
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
    for (let index = 0; index < keys.length && index < MAX_KEYED; index += 1) {
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
    discarded.add(promise);
    watch(promise, (inner) => searchResolved(origin, inner, () => discard(origin, inner)), (error) => report(origin, error));
  }
}

/**
 * Discards the promises of a value that was thrown: itself, the parts of plain data, and of an error its own properties (`cause` for example),
 * the elements of arrays among these (`errors` for example), and the same of the errors that it finds there.
 * @param {string} origin
 * @param {unknown} thrown
 */
function discardThrown(origin, thrown) {
  if (!isNativeError(thrown)) {
    discard(origin, thrown);
    return;
  }
  /** Errors and arrays to look at. @type {any[]} */
  const holders = [thrown];
  const found = new Set(holders);
  let left = MAX_PARTS_AT_ONCE;
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
  const search = new Search(origin, value);
  if (!search.run(MAX_PARTS_AT_ONCE) && unfinished < MAX_UNFINISHED) {
    search.finish();
  }
}

/**
 * Handles promises inside a value that will be copied on a later turn. They cannot be copied, and must not reject unhandled before.
 * @param {string} origin
 * @param {unknown} value
 */
function guard(origin, value) {
  searchResolved(origin, value, () => new Search(origin, value).run(MAX_GUARDED_PARTS));
}

/**
 * Searches what a promise resolves to: completely if this turn of the event loop has time for that.
 * @param {string} origin
 * @param {unknown} value
 * @param {() => void} search
 */
function searchResolved(origin, value, search) {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  const start = now();
  if (searching < MAX_SEARCHING) {
    listed = 0;
    search();
  } else if (listed < MAX_LISTED) {
    new Search(origin, value).run(FIRST_PARTS);
  }
  searching += now() - start;
  if (searching >= UNNOTICED && !isTurnScheduled) {
    isTurnScheduled = true;
    setImmediate(endTurn);
  }
}

function endTurn() {
  isTurnScheduled = false;
  searching = 0;
}

/** A search for promises inside one value. */
class Search {
  /** Parts of objects that may still be examined. */
  #left = MAX_PARTS;
  /** How many of them before the search pauses. */
  #ahead = 0;
  #origin;
  /** @type {Set<object>} the objects to search, except promises */
  #found = new Set();
  #objects = apply(setValues, this.#found, []);
  /** The object that is searched now. @type {any} */
  #object = undefined;
  /** An iterator over its entries or members, if it is a map or set. @type {any} */
  #members = undefined;
  /** The index of its next element and the number of elements, if there are too many to list their keys. */
  #index = 0;
  #length = 0;
  /** Its other keys, and the position of the next key. @type {ArrayLike<any>} */
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
   * Continues the search.
   * @param {number} parts how many to examine, not counting promises
   * @returns {boolean} whether the search is over
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
        // An object whose properties cannot be read, such as the namespace of a module that has not been evaluated.
        this.#object = undefined;
      }
    }
    return true;
  }

  /** Searches the rest on later turns of the event loop. */
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
      // This costs no more than creating the promise did, and a missed promise can end the process.
      this.#ahead += 1;
      discardPromise(this.#origin, value);
    } else if (!isProxy(value) && !isView(value)) {
      this.#found.add(value);
    }
  }

  /** Starts with the next object. Returns false if there is none. */
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
    this.#keys = this.#length > 0 ? NO_KEYS : keysOf(value);
    listed += this.#keys.length;
    return true;
  }

  /** Examines one part of the object, or finishes the object. */
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
 * Calls a function whose result and error have no receiver.
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

module.exports = { adopt, discard, discardThrown, discardWithin, guard, isThenable, notify, ORIGIN, passOn, report };
