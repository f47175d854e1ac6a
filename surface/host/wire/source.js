'use strict';
// Reads the bytes of values that have no parts. It never reads beyond the end, and never allocates for a length that the remaining bytes
// cannot fill.

const { Buffer } = require('node:buffer');
const { TextDecoder } = require('node:util');
const { cutOff, uncurryThis } = require('../../core/primordials.js');
const { LongBigInt, magnitudeOf, PIECE } = require('./long-bigint.js');
const { malformed, unreadable } = require('./refusal.js');
const { oneByteText } = require('./short-text.js');
const { TAG, VERSION } = require('./tags.js');

// Called with `call`, as in brand.js.
const { ucs2Slice } = /** @type {any} */ (Buffer.prototype);
const subarray = uncurryThis(Uint8Array.prototype.subarray);
const decode = uncurryThis(TextDecoder.prototype.decode);
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes of the longest BigInt that is read: operations on a BigInt cannot be interrupted. */
const MAX_BIGINT = 2 ** 24;
/** Bytes of padding that are skipped in one piece. */
const MAX_PADDING = 4096;

/** Assembles the first doubles: creating a view of all the bytes would take longer than reading most values. */
const doubleBytes = new Uint8Array(8);
const double = new DataView(doubleBytes.buffer);
const FEW_DOUBLES = 8;

/** What a reader has that is done. */
const NO_BYTES = new Uint8Array(0);

class Source {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.position = 0;
    this.end = bytes.length;
    this.version = 0;
    /** The number of doubles that were read without `doublesView`. */
    this.doubles = 0;
    /** A view of all the bytes. @type {DataView | undefined} */
    this.doublesView = undefined;
  }

  /** The value was read. Refers to no part of it any more. */
  release() {
    this.bytes = NO_BYTES;
    this.doublesView = undefined;
  }

  header() {
    if (this.end < 2 || this.bytes[0] !== TAG.VERSION) throw malformed('no header');
    this.position = 1;
    this.version = this.varint();
    if (this.version < VERSION.OLDEST || this.version > VERSION.WRITTEN) throw malformed('unknown version');
  }

  /** @param {number} count of bytes that must be left */
  require(count) {
    if (count > this.end - this.position) throw malformed('unexpected end');
  }

  byte() {
    if (this.position >= this.end) throw malformed('unexpected end');
    return this.bytes[this.position++];
  }

  /** The next byte that is not padding, without consuming it. */
  peek() {
    if (this.position < this.end) {
      const tag = this.bytes[this.position];
      if (tag !== TAG.PADDING) return tag;
    }
    return this.afterPadding();
  }

  /** The next byte that is not padding. V8 writes one byte of padding before some strings. */
  afterPadding() {
    const last = Math.min(this.end, this.position + MAX_PADDING + 1);
    for (; this.position < last; this.position++) {
      const tag = this.bytes[this.position];
      if (tag !== TAG.PADDING) return tag;
    }
    throw malformed(last === this.end ? 'unexpected end' : 'too much padding');
  }

  /** An unsigned integer of 32 bits. */
  varint() {
    let byte = this.byte();
    if (byte < 128) return byte;
    let value = byte & 127;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    byte = this.byte();
    if (byte > 15) throw malformed('number out of range');
    return value + byte * 0x10000000;
  }

  /** A size: an unsigned integer of up to 53 bits. */
  size() {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
    }
    throw malformed('number out of range');
  }

  int32() {
    const value = this.varint();
    return (value >>> 1) ^ -(value & 1);
  }

  /** Bytes that are left. */
  left() {
    return this.end - this.position;
  }

  /**
   * Consumes an int32 with its tag, if it has this value.
   * @param {number} value
   * @returns {boolean} false if something else follows
   */
  skipIndex(value) {
    if (this.peek() !== TAG.INT32) return false;
    const start = this.position;
    this.position = start + 1;
    if (this.int32() === value) return true;
    this.position = start;
    return false;
  }

  double() {
    this.require(8);
    if (this.isOneOfFew()) return double.getFloat64(0, true);
    this.position += 8;
    return this.viewOfBytes().getFloat64(this.position - 8, true);
  }

  /** A digit of a BigInt, whose bytes are there. */
  digit() {
    if (this.isOneOfFew()) return double.getBigUint64(0, true);
    this.position += 8;
    return this.viewOfBytes().getBigUint64(this.position - 8, true);
  }

  /** Consumes the bytes of one of the first doubles, which are then in `double`. Returns false if there have been more. */
  isOneOfFew() {
    if (this.doubles >= FEW_DOUBLES) return false;
    this.doubles++;
    const { bytes } = this;
    for (let index = 0; index < 8; index++) doubleBytes[index] = bytes[this.position++];
    return true;
  }

  viewOfBytes() {
    const { bytes } = this;
    return (this.doublesView ??= new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  /** @returns {bigint | InstanceType<typeof LongBigInt>} a long one is created later, in steps */
  bigint() {
    const bitfield = this.varint();
    const length = Math.floor(bitfield / 2);
    this.require(length);
    if (length > MAX_BIGINT) throw unreadable('a BigInt that is too large');
    const start = this.position;
    this.position += length;
    if (length === 0) {
      if (bitfield !== 0) throw malformed('a negative zero BigInt');
      return 0n;
    }
    const isNegative = (bitfield & 1) === 1;
    if (length === 8) {
      this.position = start;
      const digit = this.digit();
      return isNegative ? -digit : digit;
    }
    if (length === 16) {
      this.position = start;
      const low = this.digit();
      const magnitude = (this.digit() << 64n) | low;
      return isNegative ? -magnitude : magnitude;
    }
    if (length > PIECE) return new LongBigInt(this.bytes, start, this.position, isNegative);
    const magnitude = magnitudeOf(this.bytes, start, this.position);
    return isNegative ? -magnitude : magnitude;
  }

  oneByteString() {
    const length = this.varint();
    this.require(length);
    const start = this.position;
    this.position += length;
    return oneByteText(this.bytes, start, length);
  }

  twoByteString() {
    const length = this.varint();
    if (length & 1) throw malformed('half a character');
    this.require(length);
    const start = this.position;
    this.position += length;
    return ucs2Slice.call(this.bytes, start, this.position);
  }

  utf8String() {
    const length = this.varint();
    this.require(length);
    const start = this.position;
    this.position += length;
    try {
      return decode(utf8, subarray(this.bytes, start, this.position));
    } catch {
      throw malformed('invalid UTF-8');
    }
  }
}

cutOff(Source);

module.exports = { Source };
