'use strict';
// Collects the writer's bytes in one growing scratch buffer, which the next value reuses, and encodes values that have no parts. A getter
// of the value may start another serialization in the middle of one. The inner one finds the scratch buffer in use and makes its own.

const { Buffer } = require('node:buffer');
const { TextEncoder } = require('node:util');
const { cutOff, uncurryThis } = require('../../core/primordials.js');
const { tooLarge } = require('./refusal.js');
const { TAG, VERSION } = require('./tags.js');

const bigintToString = uncurryThis(BigInt.prototype.toString);
const { asUintN } = BigInt;
// Called with `call`, as in brand.js.
const { latin1Write, ucs2Write } = /** @type {any} */ (Buffer.prototype);
const hexWrite = uncurryThis(Buffer.prototype.hexWrite);
const copyOf = uncurryThis(Uint8Array.prototype.slice);
const subarray = uncurryThis(Uint8Array.prototype.subarray);
const setBytes = uncurryThis(Uint8Array.prototype.set);
const reverse = uncurryThis(Uint8Array.prototype.reverse);
const exec = uncurryThis(RegExp.prototype.exec);
const encoder = new TextEncoder();
const encodeInto = uncurryThis(TextEncoder.prototype.encodeInto);

/** Deno's Buffer methods are slow JavaScript. Its encoder is fast, and shows at once if a string is not plain ASCII. */
const SLOW_BUFFER = 'Deno' in globalThis;
const BEYOND_LATIN1 = /[^\0-\xff]/;
/**
 * Whether all characters are below U+0100. V8 answers at once if it keeps them in one byte each.
 * @param {string} text
 */
const isOneByte = (text) => exec(BEYOND_LATIN1, text) === null;
/** Up to this length, a loop is faster than a call into the host. */
const SHORT = 24;
/** The longest varint of 53 bits, with a tag. */
const HEAD = 10;
const SMALLEST = 16_384;
/** A larger scratch buffer is not kept. */
const LARGEST_KEPT = 2_097_152;
/** The size of the last larger one, up to a limit. */
const MAX_EXPECTED = 2 ** 25;
let lastLarge = 0;
/** Values of up to this many bytes share one array, since creating an array takes as long as writing such a value. */
const SMALL = 2048;
const ARENA_SIZE = 65_536;
/** Up to this many bytes, copying them one by one takes less than a call into the host. */
const FEW_BYTES = 64;

/** @param {number} size */
function allocate(size) {
  const bytes = new Uint8Array(size);
  return { bytes, data: new DataView(bytes.buffer) };
}

/** Holds small values, one after the other. Nothing is overwritten. */
let arena = new Uint8Array(0);
let used = 0;

/**
 * @param {Uint8Array} bytes
 * @param {number} length of the value, up to SMALL
 */
function store(bytes, length) {
  if (used + length > arena.length) {
    arena = new Uint8Array(ARENA_SIZE);
    used = 0;
  }
  const start = used;
  used += length;
  if (length <= FEW_BYTES) for (let index = 0; index < length; index++) arena[start + index] = bytes[index];
  else setBytes(arena, subarray(bytes, 0, length), start);
  return subarray(arena, start, used);
}

/** @typedef {ReturnType<typeof allocate> | null} Scratch */

/** @type {Scratch} null while a serialization uses it */
let spare = allocate(SMALLEST);
/** A scratch buffer with bytes that the native side gets. It clears the first one when it has copied them. @type {Scratch} */
let lent = null;

/** What a writer has that is done. */
const NOTHING = allocate(0);

/** A scratch buffer that nothing uses. */
function takeScratch() {
  let scratch = spare;
  if (lent !== null && lent.bytes[0] === 0) {
    scratch = lent;
    lent = null;
  } else {
    spare = null;
  }
  return scratch ?? allocate(SMALLEST);
}

class Sink {
  /**
   * @param {number} maxBytes limit for the bytes written and the buffers in the table together
   * @param {boolean} lends whether only the native side gets the bytes, before the next value is written
   * @param {Scratch} place where to write a small value, if nothing uses it: its first byte is zero then
   */
  constructor(maxBytes, lends, place) {
    const { bytes, data } = place !== null && place.bytes[0] === 0 ? place : takeScratch();
    this.bytes = bytes;
    this.data = data;
    /** What it writes to, if that is not a scratch buffer. @type {Uint8Array | undefined} */
    this.place = place !== null && place.bytes === bytes ? bytes : undefined;
    this.isKept = false;
    this.lends = lends;
    this.isLent = false;
    /** Whether the bytes that were taken are in a buffer that nothing else uses. */
    this.isAlone = false;
    this.position = 0;
    this.maxBytes = maxBytes;
    /** Bytes of the buffers in the table. */
    this.tableBytes = 0;
    /** The bytes of the whole value, if they are not in the scratch buffer. @type {Uint8Array | undefined} */
    this.whole = undefined;
  }

  /** Returns the scratch buffer, whether or not the value was written. Nothing may be called after this. */
  release() {
    const { bytes, data } = this;
    if (this.place !== undefined) this.leave();
    else if (this.isLent) lent = { bytes, data };
    else if (bytes.length <= LARGEST_KEPT) spare = { bytes, data };
    else lastLarge = Math.min(this.position + SMALLEST, MAX_EXPECTED);
    this.bytes = NOTHING.bytes;
    this.data = NOTHING.data;
    this.whole = undefined;
  }

  /** The place that others have provided is free again, unless the value stays there. */
  leave() {
    if (this.place !== undefined && !this.isKept) this.place[0] = 0;
    this.place = undefined;
  }

  /**
   * Leaves the value at the place that others have provided, if it is there and nothing else belongs to it. After this, only `release` may be called.
   * @returns {number} the length in bytes, or 0
   */
  keep() {
    if (this.place === undefined || this.whole !== undefined) return 0;
    this.require(0);
    this.isKept = true;
    return this.position;
  }

  /** The bytes written. After this, only `release` may be called. */
  take() {
    this.require(0);
    if (this.whole !== undefined) {
      this.isAlone = true;
      return this.whole;
    }
    const { bytes, position } = this;
    if (this.place !== undefined) return copyOf(bytes, 0, position);
    // A scratch buffer that is not reused need not be copied.
    const isKept = bytes.length <= LARGEST_KEPT;
    this.isAlone = !isKept;
    this.isLent = isKept && this.lends && (position > SMALL || (position > FEW_BYTES && lent === null));
    if (position <= SMALL && !this.isLent) return store(bytes, position);
    return isKept && !this.lends ? copyOf(bytes, 0, position) : subarray(bytes, 0, position);
  }

  /**
   * Throws if more bytes would exceed the limit, before anything is allocated for them.
   * @param {number} count of bytes to come
   */
  require(count) {
    if (this.position + this.tableBytes + count > this.maxBytes) throw tooLarge(this.maxBytes);
  }

  /**
   * Makes room. `count` may be more than what will be written, so this does not check the limit exactly.
   * @param {number} count
   */
  reserve(count) {
    if (this.position + count > this.bytes.length) this.grow(count);
  }

  /** @param {number} count */
  grow(count) {
    this.require(0);
    const least = Math.max(this.bytes.length * 2, this.position + count + SMALLEST);
    // A value that becomes large often becomes as large as the one before.
    const { bytes, data } = allocate(least > LARGEST_KEPT ? Math.max(least, lastLarge) : least);
    setBytes(bytes, subarray(this.bytes, 0, this.position));
    // The next value will need a scratch buffer.
    if (this.place === undefined && bytes.length > LARGEST_KEPT && this.bytes.length <= LARGEST_KEPT) spare = { bytes: this.bytes, data: this.data };
    this.leave();
    this.bytes = bytes;
    this.data = data;
  }

  header() {
    this.byte(TAG.VERSION);
    this.varint(VERSION.WRITTEN);
  }

  /** @param {number} value usually a tag */
  byte(value) {
    this.reserve(1);
    this.bytes[this.position++] = value;
  }

  /** @param {number} value an integer from 0 to 2^53 - 1 */
  varint(value) {
    this.reserve(HEAD);
    const { bytes } = this;
    let { position } = this;
    while (value > 0x7fffffff) {
      bytes[position++] = (value % 128) | 0x80;
      value = Math.floor(value / 128);
    }
    while (value > 127) {
      bytes[position++] = (value & 127) | 128;
      value >>>= 7;
    }
    bytes[position++] = value;
    this.position = position;
  }

  /** @param {number} value without a tag */
  double(value) {
    this.reserve(8);
    this.data.setFloat64(this.position, value, true);
    this.position += 8;
  }

  /** @param {number} value */
  number(value) {
    this.reserve(HEAD);
    const { bytes } = this;
    if ((value | 0) === value && (value !== 0 || 1 / value > 0)) {
      bytes[this.position++] = TAG.INT32;
      let rest = ((value << 1) ^ (value >> 31)) >>> 0;
      while (rest > 127) {
        bytes[this.position++] = (rest & 127) | 128;
        rest >>>= 7;
      }
      bytes[this.position++] = rest;
    } else {
      bytes[this.position++] = TAG.DOUBLE;
      this.double(value);
    }
  }

  /** @param {string} text */
  string(text) {
    const { length } = text;
    if (length > SHORT) {
      this.longString(text);
      return;
    }
    this.reserve(HEAD + length);
    const { bytes } = this;
    let { position } = this;
    bytes[position++] = TAG.ONE_BYTE_STRING;
    bytes[position++] = length;
    for (let index = 0; index < length; index++) {
      const unit = text.charCodeAt(index);
      if (unit > 255) {
        this.twoByteString(text);
        return;
      }
      bytes[position++] = unit;
    }
    this.position = position;
  }

  /** @param {string} text */
  longString(text) {
    const { length } = text;
    // Most wide texts begin with a wide character, and need not be searched for one.
    if (text.charCodeAt(0) > 255) {
      this.twoByteString(text);
      return;
    }
    this.require(length);
    this.reserve(HEAD + length);
    const start = this.position;
    this.bytes[this.position++] = TAG.ONE_BYTE_STRING;
    this.varint(length);
    if (SLOW_BUFFER) {
      const { read, written } = encodeInto(encoder, text, subarray(this.bytes, this.position, this.position + length));
      if (read === length && written === length) {
        this.position += length;
        return;
      }
    }
    if (!isOneByte(text)) {
      this.position = start;
      this.twoByteString(text);
      return;
    }
    latin1Write.call(this.bytes, text, this.position, length);
    this.position += length;
  }

  /** @param {string} text */
  twoByteString(text) {
    const length = text.length * 2;
    this.require(length);
    this.reserve(HEAD + 1 + length);
    // V8 reads the units in place, and they must start at an even position.
    const lengthBytes = length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x200000 ? 3 : length < 0x10000000 ? 4 : 5;
    if ((this.position + 1 + lengthBytes) & 1) this.bytes[this.position++] = TAG.PADDING;
    this.bytes[this.position++] = TAG.TWO_BYTE_STRING;
    this.varint(length);
    if (text.length <= SHORT) {
      this.units(text);
    } else if (SLOW_BUFFER) {
      const units = new Uint16Array(this.bytes.buffer, this.position, text.length);
      for (let index = 0; index < text.length; index++) units[index] = text.charCodeAt(index);
    } else {
      ucs2Write.call(this.bytes, text, this.position, length);
    }
    this.position += length;
  }

  /**
   * Writes two bytes for each character at the current position.
   * @param {string} text
   */
  units(text) {
    const { bytes } = this;
    let at = this.position;
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      bytes[at++] = unit;
      bytes[at++] = unit >> 8;
    }
  }

  /** Sign and length, then 64-bit digits, lowest first. @param {bigint} value */
  bigint(value) {
    const negative = value < 0n;
    const magnitude = negative ? -value : value;
    if (magnitude === asUintN(64, magnitude)) {
      const length = magnitude === 0n ? 0 : 8;
      this.varint(length * 2 + (negative ? 1 : 0));
      this.reserve(8);
      if (length !== 0) this.data.setBigUint64(this.position, magnitude, true);
      this.position += length;
      return;
    }
    const high = magnitude >> 64n;
    if (high === asUintN(64, high)) {
      this.varint(2 * 16 + (negative ? 1 : 0));
      this.reserve(16);
      this.data.setBigUint64(this.position, asUintN(64, magnitude), true);
      this.data.setBigUint64(this.position + 8, high, true);
      this.position += 16;
      return;
    }
    const hex = bigintToString(magnitude, 16);
    const digits = Math.ceil(hex.length / 16);
    this.require(digits * 8);
    this.varint(digits * 16 + (negative ? 1 : 0));
    this.reserve(digits * 8);
    hexWrite(this.bytes, hex.padStart(digits * 16, '0'), this.position, digits * 8);
    reverse(subarray(this.bytes, this.position, this.position + digits * 8));
    this.position += digits * 8;
  }

  /** @param {Uint8Array} bytes of the whole value, with a header; nothing else may be written */
  replace(bytes) {
    bytes[1] = VERSION.WRITTEN;
    this.whole = bytes;
    this.position = bytes.length;
  }

  /** @param {Uint8Array} source */
  raw(source) {
    this.require(source.length);
    this.reserve(source.length);
    setBytes(this.bytes, source, this.position);
    this.position += source.length;
  }
}

cutOff(Sink);

/**
 * A place for small values.
 * @param {ArrayBuffer} buffer
 * @param {number} length of the part at its beginning that is one
 */
const placeIn = (buffer, length) => ({ bytes: new Uint8Array(buffer, 0, length), data: new DataView(buffer, 0, length) });

module.exports = { isOneByte, placeIn, Sink };
