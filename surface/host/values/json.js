'use strict';
// Parses JSON that a guest made, in slices. `JSON.parse` parses a text in one piece, which takes seconds if keys collide, and has no depth
// limit.

const { define, isArray, ownKeys, parse, uncurryThis } = require('../../core/primordials.js');
const { Gaps, indexOfName } = require('../wire/indices.js');
const { MAX_WITHOUT_NOTE, note, noteOf } = require('../wire/notes.js');
const { FIXED_TIME, TIME_PER_BYTE, WEIGHT } = require('../wire/reading-limits.js');
const { malformed, tooDeep, tooHeavy } = require('../wire/refusal.js');
const {
  BYTES_PER_CHARACTER, EMPTY, INDEXED, learn, MAX_SHAPED, MIN_TABLE, names, newShape, numbers, placeOf, shapeWith,
} = require('../wire/shapes.js');
const { DEFAULT_MAX_DEPTH } = require('../wire/tags.js');
const { Work } = require('../work.js');

const { prototype: ArrayPrototype } = Array;
const { hasOwn: isOwn, prototype: ObjectPrototype } = Object;
const charCodeAt = uncurryThis(String.prototype.charCodeAt);
const exec = uncurryThis(RegExp.prototype.exec);
const indexOf = uncurryThis(String.prototype.indexOf);
const lastIndexOf = uncurryThis(String.prototype.lastIndexOf);
const slice = uncurryThis(String.prototype.slice);

/** Texts of up to this many characters are parsed in one piece. They cannot nest too deeply, or hold many keys that collide. */
const SMALL = 8192;
/** Slices up to this length are copies; a longer slice keeps the whole text in memory. */
const MAX_COPIED = 12;
/** Most characters that one call of `step` examines, and characters that count as one step of work. */
const PIECE = 16_384;
const CHARACTERS_PER_STEP = 64;
/** Characters of the longest escape, such as `\u0000`. */
const MAX_ESCAPE = 6;

const WIDE = /[^\0-\xFF]/;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** @type {readonly string[]} */
const NO_KEYS = Object.freeze([]);

/** What is expected next. */
const STATE = Object.freeze({ VALUE: 0, FIRST_ELEMENT: 1, FIRST_KEY: 2, KEY: 3, COLON: 4, AFTER_VALUE: 5, STRING: 6, END: 7 });

/** @param {number} code */
const isBlank = (code) => code === SPACE || code === 0x0a || code === 0x0d || code === 0x09;

/** @param {number} code of a character that ends a number or a word */
const isEnd = (code) => code === COMMA || code === CLOSE_LIST || code === CLOSE_OBJECT || isBlank(code);

/**
 * The number of backslashes directly before a position.
 * @param {string} text
 * @param {number} position
 */
function backslashesBefore(text, position) {
  let first = position;
  while (first > 0 && charCodeAt(text, first - 1) === BACKSLASH) {
    first -= 1;
  }
  return position - first;
}

/**
 * The position of the next quote that is not escaped.
 * @param {string} text that begins inside a string, but not inside an escape
 * @returns {number} -1 if there is none
 */
function closingQuote(text) {
  let quote = indexOf(text, '"', 0);
  while (quote !== -1 && backslashesBefore(text, quote) % 2 === 1) {
    quote = indexOf(text, '"', quote + 1);
  }
  return quote;
}

/**
 * Part of a string, without an escape at its end, which may continue after the part.
 * @param {string} text
 */
function withoutLastEscape(text) {
  const last = lastIndexOf(text, '\\');
  const isEscape = last >= text.length - MAX_ESCAPE && last !== -1 && backslashesBefore(text, last) % 2 === 0;
  return isEscape ? slice(text, 0, last) : text;
}

/**
 * Whether a string has characters above U+00FF: it takes two bytes for each character then.
 * @param {string} text
 */
const isWide = (text) => exec(WIDE, text) !== null;

/** @param {string} text of a few characters */
function isPlain(text) {
  for (let index = 0; index < text.length; index += 1) {
    const code = charCodeAt(text, index);
    if (code < SPACE || code === BACKSLASH) {
      return false;
    }
  }
  return true;
}

/**
 * @param {string} text
 * @returns {any}
 */
function parsed(text) {
  try {
    return parse(text);
  } catch {
    throw malformed('invalid JSON');
  }
}

/** Reads a text token by token. No step examines more than a piece of it. */
class JsonReader {
  #text;
  #position = 0;
  #maxWeight;
  #weight = 0;
  /** @type {number} one of STATE */
  #state = STATE.VALUE;
  /** What has been read of the current string, and where the string starts. */
  #string = '';
  #stringStart = 0;
  #isWide = false;
  #isKey = false;
  /** @type {any[]} the lists and objects that enclose the next value, outermost first */
  #path = [];
  /** The innermost of them. @type {any} */
  #holder;
  #isList = false;
  #key = '';
  /** The shape of the innermost object so far and the number of its keys, and the same of those that enclose it. */
  #shape = EMPTY;
  #keys = 0;
  /** @type {number[]} */
  #shapes = [];
  /** Once an object has got an index. @type {InstanceType<typeof Gaps> | undefined} */
  #gaps;
  /** @type {any} */
  value;

  /**
   * @param {string} text
   * @param {number} maxWeight bytes that the value may take
   */
  constructor(text, maxWeight) {
    this.#text = text;
    this.#maxWeight = maxWeight;
  }

  /** Characters that have been read, plus bytes of the values made from them. */
  get bytes() {
    return this.#position + this.#weight;
  }

  /**
   * Reads the next token, or a piece of a long one.
   * @returns {number} characters that were examined; -1 at the end, when `value` is complete
   */
  step() {
    const start = this.#position;
    if (this.#state === STATE.STRING) {
      this.#goOnWithString();
    } else {
      this.#skipBlanks(start + PIECE);
      if (this.#position >= this.#text.length) {
        if (this.#state !== STATE.END) {
          throw malformed('invalid JSON');
        }
        return -1;
      }
      if (this.#position < start + PIECE) {
        this.#token(charCodeAt(this.#text, this.#position));
      }
    }
    return this.#position - start;
  }

  /** @param {number} end */
  #skipBlanks(end) {
    const text = this.#text;
    let position = this.#position;
    while (position < end && isBlank(charCodeAt(text, position))) {
      position += 1;
    }
    this.#position = position;
  }

  /** @param {number} code of the next character */
  #token(code) {
    if (this.#closes(code)) {
      this.#close();
      return;
    }
    switch (this.#state) {
      case STATE.FIRST_ELEMENT:
      case STATE.VALUE:
        this.#beginValue(code);
        break;
      case STATE.FIRST_KEY:
      case STATE.KEY:
        this.#beginString(code, true);
        break;
      case STATE.COLON:
        this.#expect(code, COLON);
        this.#state = STATE.VALUE;
        break;
      case STATE.AFTER_VALUE:
        this.#expect(code, COMMA);
        this.#state = this.#isList ? STATE.VALUE : STATE.KEY;
        break;
      default:
        throw malformed('invalid JSON');
    }
  }

  /** @param {number} code */
  #closes(code) {
    return code === (this.#isList ? CLOSE_LIST : CLOSE_OBJECT) && (this.#state === STATE.FIRST_ELEMENT || this.#state === STATE.FIRST_KEY || this.#state === STATE.AFTER_VALUE);
  }

  /**
   * @param {number} code
   * @param {number} expected
   */
  #expect(code, expected) {
    if (code !== expected) {
      throw malformed('invalid JSON');
    }
    this.#position += 1;
  }

  /** @param {number} bytes */
  #weigh(bytes) {
    if ((this.#weight += bytes) > this.#maxWeight) {
      throw tooHeavy(this.#maxWeight);
    }
  }

  /** @param {number} code */
  #beginValue(code) {
    if (code === OPEN_LIST || code === OPEN_OBJECT) {
      this.#open(code === OPEN_LIST);
    } else if (code === QUOTE) {
      this.#beginString(code, false);
    } else {
      this.#add(this.#word());
    }
  }

  /** @param {boolean} isList */
  #open(isList) {
    this.#position += 1;
    this.#weigh(WEIGHT.OBJECT);
    const value = isList ? [] : {};
    this.#add(value);
    if (this.#path.length >= DEFAULT_MAX_DEPTH) {
      throw tooDeep(DEFAULT_MAX_DEPTH);
    }
    this.#shapes[this.#shapes.length] = this.#shape;
    this.#shapes[this.#shapes.length] = this.#keys;
    this.#shape = EMPTY;
    this.#keys = 0;
    this.#path[this.#path.length] = value;
    this.#holder = value;
    this.#isList = isList;
    this.#state = isList ? STATE.FIRST_ELEMENT : STATE.FIRST_KEY;
  }

  /** Closes the innermost list or object. */
  #close() {
    this.#position += 1;
    if (this.#isList && this.#holder.length > MAX_WITHOUT_NOTE) {
      note(this.#holder, NO_KEYS, this.#holder.length);
    }
    const { length } = this.#path;
    this.#path.length = length - 1;
    this.#keys = this.#shapes[length * 2 - 1];
    this.#shape = this.#shapes[length * 2 - 2];
    this.#shapes.length = length * 2 - 2;
    this.#holder = this.#path[length - 2];
    this.#isList = isArray(this.#holder);
    this.#state = this.#holder === undefined ? STATE.END : STATE.AFTER_VALUE;
  }

  /**
   * Adds a value to the innermost list or object. Without one, it is the result.
   * @param {unknown} value
   */
  #add(value) {
    const holder = this.#holder;
    if (holder === undefined) {
      this.value = value;
      this.#state = STATE.END;
      return;
    }
    if (this.#isList) {
      this.#weigh(WEIGHT.ELEMENT);
      put(holder, holder.length, value, ArrayPrototype);
    } else {
      this.#weighKey(holder, this.#key);
      if (this.#keys > MAX_WITHOUT_NOTE) {
        noteKey(holder, this.#key);
      }
      put(holder, this.#key, value, ObjectPrototype);
    }
    this.#state = STATE.AFTER_VALUE;
  }

  /**
   * Counts a property as the reader of the wire format does.
   * @param {object} holder
   * @param {string} key
   */
  #weighKey(holder, key) {
    this.#keys += 1;
    const index = indexOfName(key);
    if (index >= 0) {
      this.#weigh((this.#shape & INDEXED) === 0 ? WEIGHT.INDICES : WEIGHT.INDEX);
      this.#shape |= INDEXED;
      this.#weigh((this.#gaps ??= new Gaps()).before(holder, index));
      return;
    }
    this.#weigh(this.#keys <= MIN_TABLE ? WEIGHT.PROPERTY : WEIGHT.TABLE_PROPERTY);
    const first = placeOf(key);
    const place = names[first] === key ? first : first + 1;
    let name = numbers[place];
    if (names[place] !== key) {
      this.#weigh(WEIGHT.NAME + key.length * BYTES_PER_CHARACTER);
      name = learn(first, key);
    }
    if (this.#keys <= MAX_SHAPED) {
      const known = shapeWith(this.#shape, name);
      if (known === 0) {
        this.#weigh(WEIGHT.SHAPE);
      }
      this.#shape = known === 0 ? newShape(this.#shape, name, key) : known;
    }
  }

  /** A number, `true`, `false` or `null`. */
  #word() {
    const text = this.#text;
    const start = this.#position;
    const most = start + PIECE;
    let end = start;
    while (end < text.length && end <= most && !isEnd(charCodeAt(text, end))) {
      end += 1;
    }
    if (end > most) {
      throw malformed('a number that is too long');
    }
    this.#position = end;
    return parsed(slice(text, start, end));
  }

  /**
   * @param {number} code
   * @param {boolean} isKey
   */
  #beginString(code, isKey) {
    this.#expect(code, QUOTE);
    this.#isKey = isKey;
    this.#stringStart = this.#position;
    this.#state = STATE.STRING;
    this.#weigh(WEIGHT.STRING);
    this.#goOnWithString();
  }

  #goOnWithString() {
    const start = this.#position;
    const piece = slice(this.#text, start, start + PIECE);
    const quote = closingQuote(piece);
    if (quote === -1 && start + piece.length >= this.#text.length) {
      throw malformed('invalid JSON');
    }
    const part = quote === -1 ? withoutLastEscape(piece) : slice(piece, 0, quote);
    const isWhole = start === this.#stringStart && quote !== -1;
    const text = part.length <= MAX_COPIED && isPlain(part) ? part : parsed(isWhole ? slice(this.#text, start - 1, start + quote + 1) : `"${part}"`);
    this.#string = isWhole ? text : this.#string + text;
    this.#isWide ||= isWide(text);
    this.#weigh(part.length);
    this.#position = start + part.length;
    if (quote !== -1) {
      this.#position += 1;
      this.#endString();
    }
  }

  #endString() {
    const string = this.#string;
    if (this.#isWide) {
      this.#weigh(string.length);
      this.#isWide = false;
    }
    this.#string = '';
    if (this.#isKey) {
      this.#key = string;
      this.#state = STATE.COLON;
    } else {
      this.#add(string);
    }
  }
}

/**
 * @typedef {object} JsonLimits
 * @property {number} maxWeight bytes that the value may take in memory
 * @property {number} until the call's deadline, as a value of `now()` in clock.js
 * @property {() => Error | undefined} stopped returns an error when the call is over
 */

/**
 * @param {string} text
 * @param {JsonLimits} limits
 * @returns {any} the value for a small text, a promise of the value for a large one
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
  let allowed = 0;
  for (;;) {
    work.extend((reader.bytes - allowed) * TIME_PER_BYTE);
    allowed = reader.bytes;
    if (work.isSliceOver) {
      await work.turn();
    }
    const characters = reader.step();
    if (characters < 0) {
      return reader.value;
    }
    work.spend(1 + Math.floor(characters / CHARACTERS_PER_STEP));
  }
}

/**
 * Notes a key of a large object before it is added.
 * @param {object} holder
 * @param {string} key
 */
function noteKey(holder, key) {
  /** @type {any} */
  let keys = noteOf(holder)?.keys;
  if (keys === undefined) {
    keys = Object.setPrototypeOf(ownKeys(holder), null);
    note(holder, keys, 0);
  }
  if (!isOwn(holder, key)) {
    keys[keys.length] = key;
  }
}

/**
 * @param {any} holder
 * @param {string | number} key
 * @param {unknown} value
 * @param {object} prototype of the holder
 */
function put(holder, key, value, prototype) {
  // No setter runs, even if the prototypes were changed.
  if (key in prototype) {
    define(holder, key, value, true, true);
  } else {
    holder[key] = value;
  }
}

module.exports = { parseJson };
