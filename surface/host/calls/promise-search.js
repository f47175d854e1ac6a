'use strict';
// Finds the promises inside values that host functions return or throw, and limits how long this takes. Guests can decide how large such
// values are, and how many there are.

const { types } = require('node:util');
const { now, setImmediate } = require('../clock.js');
const { converted } = require('../wire/conversion.js');
const { noteOf } = require('../wire/notes.js');
const { Work } = require('../work.js');

const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { hasOwn } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { isMap, isPromise, isProxy, isSet, isStringObject } = types;
const { entries: mapEntries } = Map.prototype;
const { values: setValues } = Set.prototype;
const { next: nextEntry } = /** @type {any} */ (getPrototypeOf(new Map().entries()));
const { next: nextMember } = /** @type {any} */ (getPrototypeOf(new Set().values()));

/**
 * The own `stack` of an object, if it is no accessor.
 * @param {object} object
 */
function ownStack(object) {
  try {
    return getOwnPropertyDescriptor(object, 'stack')?.value;
  } catch {
    return undefined;
  }
}

/** @typedef {(promise: Promise<unknown>) => void} OnPromise gets each promise that is found */

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
/** Most elements of an array whose keys are listed. */
const MAX_KEYED = 1_000;

/** @type {readonly string[]} */
const NO_KEYS = Object.freeze([]);

/** Searches that continue on later turns. */
let unfinished = 0;
/** Milliseconds of searching what promises resolve to, in this turn of the event loop. */
let searching = 0;
/** Keys that were listed since the last complete search. */
let listed = 0;
let isTurnScheduled = false;

/**
 * The keys of the properties that may hold a promise. Hosts return and throw what guests have sent: listing the keys of a large object, or of a
 * string's characters, would take long.
 * @param {object} object
 * @returns {ArrayLike<any>}
 */
const keysOf = (object) => noteOf(object)?.keys ?? (isStringObject(object) ? NO_KEYS : ownKeys(object));

/** A search for promises inside one value. */
class Search {
  /** Parts of objects that may still be examined. */
  #left = MAX_PARTS;
  /** How many of them before the search pauses. */
  #ahead = 0;
  #onPromise;
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
   * @param {unknown} value
   * @param {OnPromise} onPromise
   */
  constructor(value, onPromise) {
    this.#onPromise = onPromise;
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

  /** @param {import('../work.js').WorkBudget} work */
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
      this.#onPromise(value);
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
      // Node 20 writes the stack of an error when it is read first, from its name and message.
      this.#add(key === 'stack' ? converted(ownStack, object) : getOwnPropertyDescriptor(object, key)?.value);
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
 * Searches all of a value, the end of a large one on later turns of the event loop.
 * @param {unknown} value
 * @param {OnPromise} onPromise
 */
function searchAll(value, onPromise) {
  const search = new Search(value, onPromise);
  if (!search.run(MAX_PARTS_AT_ONCE) && unfinished < MAX_UNFINISHED) {
    search.finish();
  }
}

/**
 * Searches the first parts of a value that waits for its turn.
 * @param {unknown} value
 * @param {OnPromise} onPromise
 */
function searchBeginning(value, onPromise) {
  searchResolved(value, onPromise, () => new Search(value, onPromise).run(MAX_GUARDED_PARTS));
}

/**
 * Searches what a promise resolves to: completely if this turn of the event loop has time for that.
 * @param {unknown} value what it resolved to
 * @param {OnPromise} onPromise
 * @param {() => void} search searches all of the value
 */
function searchResolved(value, onPromise, search) {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  const start = now();
  if (searching < MAX_SEARCHING) {
    listed = 0;
    search();
  } else if (listed < MAX_LISTED) {
    new Search(value, onPromise).run(FIRST_PARTS);
  }
  searching += now() - start;
  if (searching >= UNNOTICED && !isTurnScheduled) {
    setImmediate(endTurn);
    isTurnScheduled = true;
  }
}

function endTurn() {
  isTurnScheduled = false;
  searching = 0;
}

module.exports = { keysOf, searchAll, searchBeginning, searchResolved };
