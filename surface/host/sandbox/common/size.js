'use strict';
// The size of a guest's value: the bytes of its JSON in UTF-8. What JSON cannot represent counts by its content: the entries of maps and
// sets, the fields of errors, buffers, BigInts, and the named keys of arrays.
//
// A part that occurs several times counts each time, as in JSON, but is examined only once. So measuring takes time in proportion to the
// value's distinct parts, however large its JSON is.

const { Buffer } = require('node:buffer');
const { types } = require('node:util');
const { EVENT, ROLE, Visitor } = require('../../values/visit.js');

/** Bytes above the limit up to which the exact size is determined. */
const TOLERANCE = 2 ** 20;

/** Bytes of memory that an object takes at least, where its memory counts: an empty one has two bytes of JSON. */
const OBJECT_BYTES = 64;

/** A BigInt of more bits than this counts as long: the time to write it in decimal grows with the square of its length. */
const LONG_BITS = 4096;
/** Most bits of a BigInt in any engine. */
const MAX_BITS = 2 ** 30;
const DECIMAL_PER_BIT = Math.log10(2);

/** Characters of a text that are measured at a time, and characters that count as a step of work. */
const PIECE = 65_536;
const CHARACTERS_PER_STEP = 64;

/** JSON leaves out keys without a value. A result may have this many bytes of such keys for each byte of its limit. */
const MAX_LEFT_OUT_PER_BYTE = 16;

/** A text of up to this many characters, each of which JSON writes as one byte, is measured faster here than by `JSON.stringify`. */
const SHORT = 48;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;

/** Bytes of `null`, of quotes or brackets, and of a hole with its comma. */
const NULL = 4;
const PAIR = 2;
const HOLE = NULL + 1;
/** Bytes of an element with its comma, and of the quotes and the colon of its key. */
const MIN_ELEMENT = 5;

/**
 * Bytes of a text as JSON, with its quotes.
 * @param {string} text
 */
function jsonBytes(text) {
  const { length } = text;
  if (length > SHORT) {
    return Buffer.byteLength(JSON.stringify(text));
  }
  for (let index = 0; index < length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < SPACE || unit >= DELETE || unit === QUOTE || unit === BACKSLASH) {
      return Buffer.byteLength(JSON.stringify(text));
    }
  }
  return length + PAIR;
}

/**
 * The number of bits of a BigInt, to within one. Little of it is copied: shifting by more bits than it has costs nothing, and the first shift
 * that leaves something leaves at most an eighth of it.
 * @param {bigint} value
 * @param {number} max upper bound of its bits
 */
function bitsOf(value, max) {
  const none = value < 0n ? -1n : 0n;
  let rest = value;
  let bits = 1;
  for (let width = shorter(max); width >= 1; width = shorter(width)) {
    const high = rest >> BigInt(width);
    if (high !== none) {
      bits += width;
      rest = high;
    }
  }
  return bits;
}

/** @param {number} width */
const shorter = (width) => Math.floor((width * 7) / 8);

/**
 * The number of digits of a BigInt; for a long one, to within one.
 * @param {bigint} value
 * @param {number} max digits up to which the number is needed
 * @returns {number} Infinity if there are certainly more
 */
function digitsOf(value, max) {
  if (BigInt.asIntN(LONG_BITS, value) === value) {
    return value.toString().length;
  }
  const maxBits = Math.min(MAX_BITS, Math.ceil(Math.max(max, 0) / DECIMAL_PER_BIT) + LONG_BITS);
  if (maxBits < MAX_BITS && BigInt.asIntN(maxBits, value) !== value) {
    return Infinity;
  }
  return Math.ceil(bitsOf(value, maxBits) * DECIMAL_PER_BIT);
}

/**
 * Bytes of a typed array as JSON, which writes it as an object: at least, and at most three times as many, since its elements are not read.
 * @param {number} length
 */
function elementsSize(length) {
  const digits = String(Math.max(length - 1, 0)).length;
  const digitsOfKeys = length * digits - (10 ** digits - 10) / 9;
  return Math.max(PAIR, PAIR - 1 + digitsOfKeys + length * MIN_ELEMENT);
}

/**
 * @param {any} leaf anything but a string, as `Visitor` reports it
 * @param {number} max bytes up to which the size is needed
 * @param {boolean} isOutput whether typed arrays count as in JSON
 * @returns {number | undefined} undefined if it has no form in JSON and no content
 */
function leafSize(leaf, max, isOutput) {
  switch (typeof leaf) {
    case 'number': return Number.isFinite(leaf) ? String(leaf).length : NULL;
    case 'boolean': return leaf ? 4 : 5;
    case 'bigint': return digitsOf(leaf, max) + PAIR;
    case 'object': return leaf === null ? NULL : objectSize(leaf, isOutput);
    default: return undefined;
  }
}

/**
 * @param {any} leaf an object without parts
 * @param {boolean} isOutput
 */
function objectSize(leaf, isOutput) {
  if (types.isDate(leaf)) {
    return Number.isNaN(leaf.getTime()) ? NULL : jsonBytes(leaf.toISOString());
  }
  if (types.isRegExp(leaf)) {
    return '{"source":}'.length + jsonBytes(leaf.source);
  }
  // A view counts with its whole buffer.
  const bytes = ArrayBuffer.isView(leaf) ? leaf.buffer : leaf;
  if (isOutput && types.isTypedArray(leaf)) {
    return Math.max(bytes.byteLength, elementsSize(leaf.length));
  }
  return types.isAnyArrayBuffer(bytes) ? NULL + bytes.byteLength : PAIR;
}

/** @typedef {InstanceType<typeof import('../../work.js').Work>} Budget */

/** A container whose parts are being measured. */
class Frame {
  /** size before its parts; -1 while its own key in the container around it is measured */ start = -1;
  parts = 0;
  elements = 0;
}

/** One measurement of a value. */
class Measurement {
  /** Bytes so far; Infinity once they exceed the limit by far. */ size = 0;
  /** objects so far: containers once each, others each time */ objects = 0;
  /** bytes of keys without a value */ #leftOut = 0;
  #max;
  #maxLeftOut;
  #visitor;
  #work;
  /** @type {Frame[]} */ #path = [];
  /** Sizes of the containers that have been measured. @type {Map<object, number>} */ #known = new Map();
  /** The text that is being measured, the position in it, and the next text. */ #text = '';
  #at = 0;
  #nextText = '';

  /**
   * @param {unknown} root
   * @param {number} max bytes up to which the exact size is needed
   * @param {number} maxLeftOut bytes of keys without a value that do not count; 0 if all count
   * @param {Budget} work
   */
  constructor(root, max, maxLeftOut, work) {
    this.#max = max;
    this.#maxLeftOut = maxLeftOut;
    this.#visitor = new Visitor(root, work);
    this.#work = work;
  }

  /**
   * Continues to measure.
   * @param {boolean} isPausing whether to stop when the slice of work is over
   * @returns {boolean} whether the size is known
   */
  run(isPausing) {
    while (this.size <= this.#max) {
      if (isPausing && this.#work.isSliceOver) {
        return false;
      }
      if (this.#at < this.#text.length) {
        this.#addPiece();
      } else if (!this.#step()) {
        return true;
      }
    }
    this.size = Infinity;
    return true;
  }

  /** @returns {boolean} false at the end */
  #step() {
    const visitor = this.#visitor;
    const frame = this.#path.at(-1);
    if (frame !== undefined && frame.start < 0) {
      frame.start = this.size;
    }
    switch (visitor.next()) {
      case EVENT.END: return false;
      case EVENT.LEAF: this.#leaf(visitor.value); break;
      case EVENT.ENTER: this.#enter(visitor.value); break;
      case EVENT.LEAVE: this.#leave(visitor.value); break;
      // A cycle, which JSON cannot represent, ends here.
      default: this.#part(NULL);
    }
    return true;
  }

  /** @param {any} value */
  #leaf(value) {
    this.objects += this.#visitor.isBoxed || (typeof value === 'object' && value !== null) ? 1 : 0;
    if (typeof value === 'string') {
      this.#part(PAIR);
      this.#addText(value);
      return;
    }
    const size = leafSize(value, this.#max - this.size, this.#maxLeftOut > 0);
    const { role, key } = this.#visitor;
    if (size !== undefined) {
      this.#part(size);
    } else if (role !== ROLE.PROPERTY) {
      this.#part(role === ROLE.ROOT ? 0 : NULL);
    } else if (this.#maxLeftOut === 0) {
      this.#part(NULL);
    } else {
      this.#leftOut += key.length + NULL;
      if (this.#leftOut > this.#maxLeftOut) {
        this.size = Infinity;
      }
    }
  }

  /** @param {any} container */
  #enter(container) {
    const known = this.#known.get(container);
    if (known !== undefined) {
      this.#visitor.skip();
      this.#part(known);
      return;
    }
    this.objects += 1;
    this.#part(0);
    this.#path.push(new Frame());
    this.size += PAIR;
    const count = Array.isArray(container) ? container.length : types.isMap(container) || types.isSet(container) ? container.size : 0;
    if (this.size + count > this.#max) {
      this.size = Infinity;
    }
  }

  /** @param {any} container */
  #leave(container) {
    const { start, parts, elements } = /** @type {Frame} */ (this.#path.pop());
    if (Array.isArray(container) && elements < container.length) {
      this.size += (container.length - elements) * HOLE - (parts === 0 ? 1 : 0);
    }
    this.#known.set(container, this.size - start + PAIR);
  }

  /**
   * Adds a part of the current container, with its key and punctuation.
   * @param {number} size
   */
  #part(size) {
    this.size += size;
    const frame = this.#path.at(-1);
    if (frame === undefined) {
      return;
    }
    const { role, key } = this.#visitor;
    // Commas separate the parts. An entry of a map is a list of two.
    this.size += role === ROLE.MAP_VALUE ? 1 : (frame.parts === 0 ? 0 : 1) + (role === ROLE.MAP_KEY ? PAIR : 0);
    frame.parts += 1;
    if (role === ROLE.ELEMENT) {
      frame.elements += 1;
    } else if (role === ROLE.PROPERTY) {
      this.size += PAIR + 1;
      this.#addText(key);
    }
  }

  /** @param {string} text */
  #addText(text) {
    if (text.length > this.#max - this.size) {
      this.size = Infinity;
    } else if (text.length <= PIECE && this.#at >= this.#text.length) {
      this.#work.spend(Math.floor(text.length / CHARACTERS_PER_STEP));
      this.size += jsonBytes(text) - PAIR;
    } else if (this.#at < this.#text.length) {
      // The text in progress is the key of this value.
      this.#nextText = text;
    } else {
      this.#text = text;
      this.#at = 0;
    }
  }

  #addPiece() {
    const end = pieceEnd(this.#text, this.#at);
    this.#work.spend(PIECE / CHARACTERS_PER_STEP);
    this.size += jsonBytes(this.#text.slice(this.#at, end)) - PAIR;
    this.#at = end;
    if (end === this.#text.length) {
      this.#text = this.#nextText;
      this.#nextText = '';
      this.#at = 0;
    }
  }
}

/**
 * The end of the next piece of a text, which is not between the halves of a character.
 * @param {string} text
 * @param {number} start
 */
function pieceEnd(text, start) {
  const end = Math.min(start + PIECE, text.length);
  const last = text.charCodeAt(end - 1);
  return end < text.length && last >= 0xd800 && last < 0xdc00 ? end + 1 : end;
}

/** One measurement of a text as it is, in UTF-8. */
class TextMeasurement {
  size = 0;
  objects = 0;
  #at = 0;
  #text;
  #max;
  #work;

  /**
   * @param {string} text
   * @param {number} max bytes up to which the exact size is needed
   * @param {Budget} work
   */
  constructor(text, max, work) {
    this.#text = text;
    this.#max = max;
    this.#work = work;
  }

  /**
   * @param {boolean} isPausing whether to stop when the slice of work is over
   * @returns {boolean} whether the size is known
   */
  run(isPausing) {
    const text = this.#text;
    if (text.length - this.#at > this.#max - this.size) {
      this.size = Infinity;
      return true;
    }
    while (this.#at < text.length) {
      if (isPausing && this.#work.isSliceOver) {
        return false;
      }
      const end = pieceEnd(text, this.#at);
      this.#work.spend(Math.ceil((end - this.#at) / CHARACTERS_PER_STEP));
      this.size += Buffer.byteLength(text.slice(this.#at, end));
      this.#at = end;
    }
    return true;
  }
}

/**
 * Begins to measure a value as it is stored: a text as it is, anything else as JSON. Everything counts, including keys without a value.
 * @param {unknown} value
 * @param {number} max bytes up to which the exact size is needed; beyond them it is Infinity
 * @param {Budget} work
 */
const measurementOf = (value, max, work) => (typeof value === 'string' ? new TextMeasurement(value, max, work) : new Measurement(value, max, 0, work));

/**
 * Bytes of a result as JSON. The event loop turns in between if it takes long.
 * @param {unknown} value
 * @param {number} limit
 * @param {Budget} work
 * @returns {Promise<number>} Infinity if they exceed `limit` by far
 */
async function outputSize(value, limit, work) {
  const measurement = new Measurement(value, limit + TOLERANCE, limit * MAX_LEFT_OUT_PER_BYTE, work);
  while (!measurement.run(true)) {
    await work.turn();
  }
  return measurement.size;
}

/** @typedef {ReturnType<typeof measurementOf>} SizeMeasurement */

module.exports = { measurementOf, OBJECT_BYTES, outputSize, TOLERANCE };
