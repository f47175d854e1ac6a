'use strict';
// Compares data with the values that a JSON Schema requires. The data comes from a guest, so what takes longer for larger data is done in
// slices.

const { CODE, coded } = require('../../../core/error.js');
const { MAX_WITHOUT_NOTE, noteOf } = require('../../wire/notes.js');
const { isObject } = require('./json-schema.js');

const tooDeep = () => coded(/** @type {ErrorConstructor} */ (RangeError), 'The params are nested too deeply', CODE.LIMIT);

const tooLarge = () => coded(/** @type {ErrorConstructor} */ (RangeError), 'The params are too large for the schema', CODE.LIMIT);

/** Most results that a validation keeps for each kind of work. Each takes some 50 bytes. */
const MAX_KNOWN = 2_000_000;

/** @param {unknown} value */
function typeOf(value) {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

/** The keys of objects. To list those of a large object takes long, so it is done once. */
class Keys {
  /** @type {Map<object, readonly string[]>} */ #large = new Map();

  /**
   * @param {object} object
   * @returns {ArrayLike<string | number>}
   */
  of(object) {
    const known = noteOf(object)?.keys ?? this.#large.get(object);
    if (known !== undefined) {
      return known;
    }
    const keys = Object.keys(object);
    if (keys.length > MAX_WITHOUT_NOTE) {
      this.#large.set(object, keys);
    }
    return keys;
  }
}

/** @typedef {Keys} ObjectKeys */

/**
 * Whether a value of the data equals one of the schema. It takes time in proportion to the latter.
 * @param {any} value
 * @param {any} wanted
 * @param {ObjectKeys} keysIn the data
 * @returns {boolean}
 */
function equals(value, wanted, keysIn) {
  if (typeof wanted !== 'object' || wanted === null) {
    return value === wanted;
  }
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && value.length === wanted.length && wanted.every((each, index) => equals(value[index], each, keysIn));
  }
  if (!isObject(value)) {
    return false;
  }
  const keys = Object.keys(wanted);
  return keysIn.of(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key) && equals(value[key], wanted[key], keysIn));
}

/**
 * Whether a string has so many characters. It takes time in proportion to the limit.
 * @param {string} text
 * @param {number} least
 */
function hasCharacters(text, least) {
  if (text.length < least || text.length >= 2 * least) {
    return text.length >= least;
  }
  let characters = 0;
  for (let index = 0; index < text.length; index += /** @type {number} */ (text.codePointAt(index)) > 0xffff ? 2 : 1) {
    characters += 1;
  }
  return characters >= least;
}

/**
 * @param {number} value
 * @param {number} factor
 */
function isMultiple(value, factor) {
  const quotient = value / factor;
  return Number.isInteger(quotient) || Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * Number.EPSILON * 4;
}

/** Parts of a list or object that are compared as one text. */
const CHUNK = 64;
/** Numbers that are sorted in one piece, which takes less than a millisecond. */
const RUN = 4_096;

const MARKED = /^["#\d]/;

/**
 * A key for a primitive value. As keys, numbers could collide in the tables of engines, and so could texts that look like array indices, since some
 * engines do not seed the hashes of these. So the key of a number is a text, and the key of a text that begins like one of these, or with a digit, has a mark.
 * @param {unknown} value
 */
function keyOf(value) {
  if (typeof value === 'number') {
    return `#${value}`;
  }
  return typeof value === 'string' && MARKED.test(value) ? `"${value}` : value;
}

/** Gives equal values the same number, in time in proportion to their size. */
class Identities {
  #work;
  #keys;
  #maxDepth;
  #count = 0;
  /** @type {Map<unknown, number>} */ #primitives = new Map();
  /** Of lists and objects, by the number of the parts before a chunk and the numbers in it. @type {Map<string, number>} */ #forms = new Map();
  /** @type {Map<object, number>} */ #objects = new Map();

  /**
   * @param {{ isDue(steps?: number): boolean }} work tells when the event loop should get a turn
   * @param {ObjectKeys} keys
   * @param {number} maxDepth
   */
  constructor(work, keys, maxDepth) {
    this.#work = work;
    this.#keys = keys;
    this.#maxDepth = maxDepth;
  }

  /**
   * @template K
   * @param {Map<K, number>} numbers
   * @param {K} key
   */
  #numberOf(numbers, key) {
    const known = numbers.get(key);
    if (known !== undefined) {
      return known;
    }
    this.#count += 1;
    this.#checkCount();
    numbers.set(key, this.#count);
    return this.#count;
  }

  #checkCount() {
    if (this.#objects.size + this.#count > MAX_KNOWN) {
      throw tooLarge();
    }
  }

  /**
   * @param {any} value
   * @param {number} depth
   * @returns {Generator<undefined, number>}
   */
  *of(value, depth) {
    if (this.#work.isDue()) {
      yield;
    }
    if (depth > this.#maxDepth) {
      throw tooDeep();
    }
    if (typeof value !== 'object' || value === null) {
      return this.#numberOf(this.#primitives, keyOf(value));
    }
    const known = this.#objects.get(value);
    if (known !== undefined) {
      return known;
    }
    const number = Array.isArray(value) ? yield* this.#ofList(value, depth) : yield* this.#ofObject(value, depth);
    this.#objects.set(value, number);
    this.#checkCount();
    return number;
  }

  /**
   * @param {unknown[]} list
   * @param {number} depth
   * @returns {Generator<undefined, number>}
   */
  *#ofList(list, depth) {
    let number = this.#numberOf(this.#forms, '[');
    for (let start = 0; start < list.length; start += CHUNK) {
      const parts = [];
      for (const item of list.slice(start, start + CHUNK)) {
        parts.push(yield* this.of(item, depth + 1));
      }
      number = this.#numberOf(this.#forms, `${number}:${parts}`);
    }
    return number;
  }

  /**
   * Sorts numbers: pieces of them first, which are then merged.
   * @param {Float64Array<ArrayBuffer>} numbers which are overwritten
   * @returns {Generator<undefined, Float64Array<ArrayBuffer>>}
   */
  *#sorted(numbers) {
    const { length } = numbers;
    for (let start = 0; start < length; start += RUN) {
      if (this.#work.isDue(Math.min(length - start, RUN))) {
        yield;
      }
      numbers.subarray(start, start + RUN).sort();
    }
    let from = numbers;
    let to = new Float64Array(length > RUN ? length : 0);
    for (let width = RUN; width < length; width *= 2) {
      for (let start = 0; start < length; start += 2 * width) {
        const middle = Math.min(start + width, length);
        const end = Math.min(middle + width, length);
        let [left, right] = [start, middle];
        for (let at = start; at < end; at += 1) {
          if (this.#work.isDue()) {
            yield;
          }
          const isLeft = right === end || (left < middle && from[left] < from[right]);
          to[at] = isLeft ? from[left++] : from[right++];
        }
      }
      [from, to] = [to, from];
    }
    return from;
  }

  /**
   * @param {Record<string, unknown>} object
   * @param {number} depth
   * @returns {Generator<undefined, number>}
   */
  *#ofObject(object, depth) {
    const keys = this.#keys.of(object);
    /** @type {Map<number, string>} */
    const names = new Map();
    const numbers = new Float64Array(keys.length);
    for (let index = 0; index < keys.length; index += 1) {
      if (this.#work.isDue()) {
        yield;
      }
      const name = String(keys[index]);
      numbers[index] = this.#numberOf(this.#primitives, keyOf(name));
      names.set(numbers[index], name);
    }
    // In any order, as long as it is the same for equal objects. Sorting numbers takes a fraction of the time of sorting texts.
    const sorted = yield* this.#sorted(numbers);
    let number = this.#numberOf(this.#forms, '{');
    for (let start = 0; start < sorted.length; start += CHUNK) {
      const parts = [];
      for (const key of sorted.subarray(start, start + CHUNK)) {
        parts.push(key, yield* this.of(object[/** @type {string} */ (names.get(key))], depth + 1));
      }
      number = this.#numberOf(this.#forms, `${number}:${parts}`);
    }
    return number;
  }
}

module.exports = { equals, hasCharacters, Identities, isMultiple, Keys, MAX_KNOWN, tooDeep, tooLarge, typeOf };
