'use strict';
// Estimates the memory of replies that wait to be sent. It looks at a few parts of each, since a guest decides how many replies wait.

const { types } = require('node:util');
const { noteOf } = require('../wire/notes.js');

const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { isAnyArrayBuffer, isDataView, isMap, isNativeError, isProxy, isSet, isSharedArrayBuffer, isStringObject } = types;
const { size: { get: mapSize } } = /** @type {any} */ (Object.getOwnPropertyDescriptors(Map.prototype));
const { size: { get: setSize } } = /** @type {any} */ (Object.getOwnPropertyDescriptors(Set.prototype));
const { entries: mapEntries } = Map.prototype;
const { values: setValues } = Set.prototype;
const { next: nextEntry } = /** @type {any} */ (getPrototypeOf(new Map().entries()));
const { next: nextMember } = /** @type {any} */ (getPrototypeOf(new Set().values()));
const bufferBytes = getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get;
const viewBytes = getOwnPropertyDescriptor(DataView.prototype, 'byteLength')?.get;
const elementsBytes = getOwnPropertyDescriptor(/** @type {object} */ (getPrototypeOf(Uint8Array.prototype)), 'byteLength')?.get;

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
      return apply(/** @type {any} */ (isDataView(object) ? viewBytes : elementsBytes), object, []);
    }
    if (isAnyArrayBuffer(object)) {
      return isSharedArrayBuffer(object) ? 0 : apply(/** @type {any} */ (bufferBytes), object, []);
    }
    if (isStringObject(object)) {
      return apply(String.prototype.valueOf, object, []).length;
    }
    if (isArray(object)) {
      return this.#sampled(object.length, PLACE, (index) => getOwnPropertyDescriptor(object, index)?.value, object.length);
    }
    if (isMap(object)) {
      const entries = apply(mapEntries, object, []);
      return this.#sampled(apply(mapSize, object, []), KEYED, () => apply(nextEntry, entries, []).value);
    }
    if (isSet(object)) {
      const members = apply(setValues, object, []);
      return this.#sampled(apply(setSize, object, []), KEYED, () => apply(nextMember, members, []).value);
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
