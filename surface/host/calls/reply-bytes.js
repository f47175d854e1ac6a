'use strict';
// Estimates the memory of replies that wait to be sent. It looks at a few parts of each, since a guest decides how many replies wait.

const { types } = require('node:util');
const { getOwnPropertyDescriptor, getPrototypeOf, isArray, isView, ownKeys, uncurryThis } = require('../../core/primordials.js');
const { noteOf } = require('../wire/notes.js');
const { byteLengthOf, partsOf } = require('../wire/views.js');

const { isAnyArrayBuffer, isMap, isNativeError, isProxy, isSet, isSharedArrayBuffer, isStringObject } = types;
const sizeOfMap = uncurryThis(/** @type {any} */ (getOwnPropertyDescriptor(Map.prototype, 'size')).get);
const sizeOfSet = uncurryThis(/** @type {any} */ (getOwnPropertyDescriptor(Set.prototype, 'size')).get);
const entriesOf = uncurryThis(Map.prototype.entries);
const nextEntry = uncurryThis(/** @type {any} */ (getPrototypeOf(new Map().entries())).next);
const membersOf = uncurryThis(Set.prototype.values);
const nextMember = uncurryThis(/** @type {any} */ (getPrototypeOf(new Set().values())).next);
const stringOf = uncurryThis(String.prototype.valueOf);

/** Parts of one reply that are examined; elements, entries or members of one of its lists; and properties of one of its objects. */
const MAX_PARTS = 64;
const SAMPLES = 4;
const MAX_PROPERTIES = 16;
/** Bytes of an object, and of a place for a value, with its key. */
const OBJECT = 64;
const PLACE = 8;
const KEYED = 24;
/** An object with more properties is listed once: a host may return the same one to thousands of calls. */
const MANY = 1_000;

/** @type {WeakMap<object, number>} */
const known = new WeakMap();

/** One estimate. */
class Estimate {
  #left = MAX_PARTS;
  /** @type {Set<object>} */ #seen = new Set();

  /**
   * @param {any} value
   * @returns {number} bytes
   */
  of(value) {
    if (typeof value === 'string') {
      return value.length;
    }
    if (typeof value !== 'object' || value === null || this.#seen.has(value) || isProxy(value)) {
      return 0;
    }
    if (this.#left <= 0) {
      return OBJECT;
    }
    this.#seen.add(value);
    return OBJECT + this.#content(value);
  }

  /** @param {any} object */
  #content(object) {
    if (isView(object)) {
      return partsOf(object)?.length ?? 0;
    }
    if (isAnyArrayBuffer(object)) {
      return isSharedArrayBuffer(object) ? 0 : byteLengthOf(object);
    }
    if (isStringObject(object)) {
      return stringOf(object).length;
    }
    if (isArray(object)) {
      return this.#sampled(object.length, PLACE, (index) => getOwnPropertyDescriptor(object, index)?.value, object.length);
    }
    if (isMap(object)) {
      const entries = entriesOf(object);
      return this.#sampled(sizeOfMap(object), KEYED, () => nextEntry(entries).value);
    }
    if (isSet(object)) {
      const members = membersOf(object);
      return this.#sampled(sizeOfSet(object), KEYED, () => nextMember(members).value);
    }
    return this.#properties(object);
  }

  /**
   * @param {number} count of the parts
   * @param {number} place bytes of each besides the part itself
   * @param {(index: number) => unknown} next returns the part at an index, or the next one
   * @param {number} [length] of a list, whose parts may be absent
   */
  #sampled(count, place, next, length = 0) {
    const samples = Math.min(count, SAMPLES);
    let bytes = 0;
    let present = 0;
    for (let sample = 0; sample < samples; sample += 1) {
      this.#left -= 1;
      const part = next(Math.floor(sample * count / samples));
      present += length === 0 || part !== undefined ? 1 : 0;
      bytes += this.of(part);
    }
    return samples === 0 ? 0 : (bytes + present * place) * (count / samples);
  }

  /** @param {any} object */
  #properties(object) {
    const before = known.get(object);
    if (before !== undefined) {
      return before;
    }
    const keys = noteOf(object)?.keys ?? ownKeys(object);
    const samples = Math.min(keys.length, MAX_PROPERTIES);
    let bytes = 0;
    for (let sample = 0; sample < samples; sample += 1) {
      this.#left -= 1;
      const key = keys[Math.floor(sample * keys.length / samples)];
      // Reading a stack may write it.
      bytes += key === 'stack' && isNativeError(object) ? 0 : this.of(getOwnPropertyDescriptor(object, key)?.value);
    }
    const all = samples === 0 ? 0 : (bytes + samples * KEYED) * (keys.length / samples);
    if (keys.length > MANY) {
      known.set(object, all);
    }
    return all;
  }
}

/**
 * @param {unknown} value a reply, or an error
 * @returns {number} bytes of memory that it takes, roughly
 */
function replyBytes(value) {
  try {
    return new Estimate().of(value);
  } catch {
    // An object whose properties cannot be read.
    return OBJECT;
  }
}

module.exports = { replyBytes };
