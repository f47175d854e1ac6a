'use strict';
// Parses JSON that a guest has made, in slices. `JSON.parse` does it in one piece, which takes seconds where keys collide, and has no limit
// of depth.

const { define, isArray, parse, uncurryThis } = require('../primordials.js');
const { WEIGHT } = require('./wire/leaf-reader.js');
const { malformed, tooDeep, tooHeavy } = require('./wire/refusal.js');
const { FIXED_TIME, TIME_PER_BYTE } = require('./wire/reader.js');
const { DEFAULT_MAX_DEPTH } = require('./wire/tags.js');
const { Work } = require('./work.js');

const { prototype: ArrayPrototype } = Array;
const { prototype: ObjectPrototype } = Object;
const charCodeAt = uncurryThis(String.prototype.charCodeAt);
const indexOf = uncurryThis(String.prototype.indexOf);
const slice = uncurryThis(String.prototype.slice);

/** Characters that are parsed in one piece: too few to nest too deeply, or to hold many keys that collide. */
const SMALL = 8192;
/** Slices of texts up to this length are copies; a longer one keeps the whole text in memory. */
const MAX_COPIED = 12;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** @param {number} code */
const isBlank = (code) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** @param {number} code of a character that ends a number or a word */
const isEnd = (code) => code === COMMA || code === CLOSE_LIST || code === CLOSE_OBJECT || isBlank(code);

class JsonReader {
  #text;
  #position = 0;
  /** Of the next backslash, or one that is behind. */
  #backslash = -1;
  #maxWeight;
  weight = 0;

  /**
   * @param {string} text
   * @param {number} maxWeight bytes that the value may take
   */
  constructor(text, maxWeight) {
    this.#text = text;
    this.#maxWeight = maxWeight;
  }

  get position() {
    return this.#position;
  }

  /** The code of the next character that is not blank, NaN at the end. */
  peek() {
    let code = charCodeAt(this.#text, this.#position);
    while (isBlank(code)) {
      this.#position += 1;
      code = charCodeAt(this.#text, this.#position);
    }
    return code;
  }

  /** @param {number} code of the character that must come next */
  expect(code) {
    if (this.peek() !== code) {
      throw malformed('invalid JSON');
    }
    this.#position += 1;
  }

  /** @param {number} bytes */
  weigh(bytes) {
    if ((this.weight += bytes) > this.#maxWeight) {
      throw tooHeavy(this.#maxWeight);
    }
  }

  /** @returns {string} */
  string() {
    this.expect(QUOTE);
    const start = this.#position;
    let end = indexOf(this.#text, '"', start);
    if (this.#backslash < start) {
      const found = indexOf(this.#text, '\\', start);
      this.#backslash = found === -1 ? Infinity : found;
    }
    const isPlain = this.#backslash > end;
    if (!isPlain) {
      while (end !== -1 && this.#isEscaped(start, end)) {
        end = indexOf(this.#text, '"', end + 1);
      }
    }
    if (end === -1) {
      throw malformed('invalid JSON');
    }
    this.#position = end + 1;
    this.weigh(WEIGHT.STRING + end - start);
    return isPlain && end - start <= MAX_COPIED ? slice(this.#text, start, end) : this.#parsed(start - 1, end + 1);
  }

  /**
   * Whether an odd number of backslashes stands before a character.
   * @param {number} start
   * @param {number} end
   */
  #isEscaped(start, end) {
    let first = end;
    while (first > start && charCodeAt(this.#text, first - 1) === BACKSLASH) {
      first -= 1;
    }
    return (end - first) % 2 === 1;
  }

  /** A number, `true`, `false` or `null`. */
  word() {
    const start = this.#position;
    while (this.#position < this.#text.length && !isEnd(charCodeAt(this.#text, this.#position))) {
      this.#position += 1;
    }
    return this.#parsed(start, this.#position);
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {any}
   */
  #parsed(start, end) {
    try {
      return parse(slice(this.#text, start, end));
    } catch {
      throw malformed('invalid JSON');
    }
  }
}

/**
 * @typedef {object} JsonLimits
 * @property {number} maxWeight bytes that the value may take in memory
 * @property {number} until the call's deadline, as a value of `performance.now()`
 * @property {() => Error | undefined} stopped returns an error when the call is over
 */

/**
 * @param {string} text
 * @param {JsonLimits} limits
 * @returns {any} the value of a small text, a promise of that of a large one
 */
const parseJson = (text, limits) => (text.length <= SMALL ? parse(text) : parseInTurns(text, limits));

/**
 * @param {string} text
 * @param {JsonLimits} limits
 * @returns {Promise<any>}
 */
async function parseInTurns(text, { maxWeight, until, stopped }) {
  const work = new Work({ time: FIXED_TIME, until, stopped });
  const reader = new JsonReader(text, maxWeight);
  /** @type {any[]} the lists and objects that the next value lies in */
  const path = [];
  /** The last of them. @type {any} */
  let holder;
  let isList = false;
  let allowed = 0;
  let key = '';
  for (;;) {
    const bytes = reader.position + reader.weight;
    work.extend((bytes - allowed) * TIME_PER_BYTE);
    allowed = bytes;
    work.spend();
    if (work.isSliceOver) {
      await work.turn();
    }
    /** @type {any} */
    let value;
    const code = reader.peek();
    if (code === OPEN_LIST || code === OPEN_OBJECT) {
      reader.expect(code);
      reader.weigh(WEIGHT.OBJECT);
      value = code === OPEN_LIST ? [] : {};
    } else {
      value = code === QUOTE ? reader.string() : reader.word();
    }
    if (holder !== undefined) {
      reader.weigh(isList ? WEIGHT.ELEMENT : WEIGHT.PROPERTY);
      if (isList) {
        put(holder, holder.length, value, ArrayPrototype);
      } else {
        put(holder, key, value, ObjectPrototype);
      }
    }
    if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (path.length >= DEFAULT_MAX_DEPTH) {
        throw tooDeep(DEFAULT_MAX_DEPTH);
      }
      path[path.length] = value;
      holder = value;
      isList = code === OPEN_LIST;
      if (reader.peek() !== (isList ? CLOSE_LIST : CLOSE_OBJECT)) {
        key = isList ? '' : keyOf(reader);
        continue;
      }
    }
    // What ends with this value.
    while (holder !== undefined && reader.peek() === (isList ? CLOSE_LIST : CLOSE_OBJECT)) {
      reader.expect(isList ? CLOSE_LIST : CLOSE_OBJECT);
      value = holder;
      path.length -= 1;
      holder = path[path.length - 1];
      isList = isArray(holder);
    }
    if (holder === undefined) {
      if (!Number.isNaN(reader.peek())) {
        throw malformed('invalid JSON');
      }
      return value;
    }
    reader.expect(COMMA);
    key = isList ? '' : keyOf(reader);
  }
}

/** @param {JsonReader} reader */
function keyOf(reader) {
  const key = reader.string();
  reader.expect(COLON);
  return key;
}

/**
 * @param {any} holder
 * @param {string | number} key
 * @param {unknown} value
 * @param {object} prototype of the holder
 */
function put(holder, key, value, prototype) {
  // No setter runs, whatever became of the prototypes.
  if (key in prototype) {
    define(holder, key, value, true, true);
  } else {
    holder[key] = value;
  }
}

module.exports = { parseJson };
