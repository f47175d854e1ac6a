'use strict';
// Comparisons of data with what a JSON Schema demands. The data are a guest's: what takes longer for larger data is done in slices.

const { CODE, coded } = require('../../error.js');
const { isObject } = require('./json-schema.js');

const tooDeep = () => coded(/** @type {ErrorConstructor} */ (RangeError), 'The params are nested too deeply', CODE.LIMIT);

/** @param {unknown} value */
function typeOf(value) {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

/**
 * Whether a value of the data equals one of the schema. It takes time in proportion to the latter.
 * @param {any} value
 * @param {any} wanted
 * @returns {boolean}
 */
function equals(value, wanted) {
  if (typeof wanted !== 'object' || wanted === null) {
    return value === wanted;
  }
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && value.length === wanted.length && wanted.every((each, index) => equals(value[index], each));
  }
  if (!isObject(value)) {
    return false;
  }
  const keys = Object.keys(wanted);
  if (!keys.every((key) => Object.hasOwn(value, key) && equals(value[key], wanted[key]))) {
    return false;
  }
  let left = keys.length;
  for (const key in value) {
    if (Object.hasOwn(value, key) && (left -= 1) < 0) {
      return false;
    }
  }
  return true;
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

/** Gives equal values the same number, in time in proportion to their size. */
class Identities {
  #work;
  #maxDepth;
  #count = 0;
  /** @type {Map<unknown, number>} */ #primitives = new Map();
  /** Of lists and objects, by the numbers of their parts. @type {Map<string, number>} */ #forms = new Map();
  /** @type {Map<object, number>} */ #objects = new Map();

  /**
   * @param {{ isDue(): boolean }} work tells when the event loop should get a turn
   * @param {number} maxDepth
   */
  constructor(work, maxDepth) {
    this.#work = work;
    this.#maxDepth = maxDepth;
  }

  /**
   * @template K
   * @param {Map<K, number>} numbers
   * @param {K} key
   */
  #numberOf(numbers, key) {
    const number = numbers.get(key) ?? (this.#count += 1);
    numbers.set(key, number);
    return number;
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
      return this.#numberOf(this.#primitives, value);
    }
    const known = this.#objects.get(value);
    if (known !== undefined) {
      return known;
    }
    const isList = Array.isArray(value);
    const parts = [];
    for (const key of isList ? value.keys() : Object.keys(value).toSorted()) {
      const part = yield* this.of(value[key], depth + 1);
      parts.push(isList ? part : `${this.#numberOf(this.#primitives, key)}:${part}`);
    }
    const number = this.#numberOf(this.#forms, `${isList ? '[' : '{'}${parts}`);
    this.#objects.set(value, number);
    return number;
  }
}

module.exports = { equals, hasCharacters, Identities, isMultiple, tooDeep, typeOf };
