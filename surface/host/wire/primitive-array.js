'use strict';
// Large arrays of primitives. To find out in JavaScript that an array has no properties besides its elements, all their keys must be listed,
// which takes several times as long as writing them. If the host's engine is V8, its own serializer writes the array; otherwise, the keys of
// a copy without elements are listed.

const { ownKeys, uncurryThis } = require('../../core/primordials.js');
const { TAG } = require('./tags.js');

const { structuredClone: clone } = globalThis;

/** Arrays of fewer elements are not worth it: creating a serializer takes as long as listing this many keys. */
const MIN_LENGTH = 256;

/** @type {any} */
const Deno = Reflect.get(globalThis, 'Deno');
/** The serializer of Deno's core: its `Serializer` of node:v8 never releases what it has written. */
const serialize = Deno?.[Deno.internal]?.core?.serialize;

/** Whether the host's engine is V8. Its format for arrays of primitives is the same in all versions that are supported. */
const isSupported = Deno === undefined ? process.versions.bun === undefined && process.versions.v8 !== undefined : typeof serialize === 'function';

/** Bytes of the header: a tag and the version of the format. */
const HEADER_BYTES = 2;

/** @type {((array: unknown[]) => Uint8Array) | undefined} the bytes with a header */
let write;

/** Loaded when it is first needed, since most programs never do. */
function load() {
  if (Deno !== undefined) return (/** @type {unknown[]} */ array) => serialize(array);
  const { Serializer } = require('node:v8');
  const writeHeader = uncurryThis(Serializer.prototype.writeHeader);
  const writeValue = uncurryThis(Serializer.prototype.writeValue);
  const releaseBuffer = uncurryThis(Serializer.prototype.releaseBuffer);
  return (/** @type {unknown[]} */ array) => {
    const serializer = new Serializer();
    writeHeader(serializer);
    writeValue(serializer, array);
    return releaseBuffer(serializer);
  };
}

/** The most bytes that are written in one piece. */
const MAX_BYTES = 2 ** 24;
/** Bytes of a number, and of the tag and the length of a string, with padding. */
const ELEMENT_BYTES = 9;

/**
 * @param {unknown[]} array without holes
 * @returns {number} the most bytes that it can take; infinity if an element is an object, a BigInt or a symbol
 */
function bytesOf(array) {
  let bytes = 0;
  for (let index = 0; index < array.length; index++) {
    const value = array[index];
    switch (typeof value) {
      case 'string':
        bytes += 2 * value.length;
        break;
      case 'number':
      case 'boolean':
      case 'undefined': break;
      default:
        if (value !== null) return Infinity;
    }
    bytes += ELEMENT_BYTES;
  }
  return bytes;
}

/**
 * V8 writes an array that may have holes as a sparse one. This takes several times as long, only the bytes show it, and a program that makes one such
 * array makes more of them. So after one, JavaScript writes some arrays before the serializer is tried again, and more of them each time.
 */
const MAX_UNTRIED = 32;
let untried = 0;
let left = 0;

/** @param {number} value @returns {number[]} */
const varintOf = (value) => (value > 127 ? [(value & 127) | 128, ...varintOf(value >>> 7)] : [value]);

/**
 * @param {Uint8Array} bytes
 * @param {number[]} part
 * @param {number} at
 */
const hasPart = (bytes, part, at) => at >= 0 && part.every((byte, index) => bytes[at + index] === byte);

/**
 * Writes arrays of primitives for one value. An array may have properties besides its elements, which may hold the rest of the value, with more
 * such arrays. So the first such array is the last one that is tried: otherwise, the time would grow with the square of the value's size.
 */
class PrimitiveArrays {
  #isOver = false;

  /**
   * The bytes of an array of primitives, after a header of `HEADER_BYTES`. Without it, they must begin at an even position: V8 aligns strings of
   * two bytes per character.
   * @param {unknown[]} array of at least `MIN_LENGTH` elements without holes, with the prototype `Array.prototype`
   * @param {number} room bytes that may be written
   * @returns {Uint8Array | undefined} undefined if the array has to be written in JavaScript
   */
  bytes(array, room) {
    if (!isSupported || this.#isOver || bytesOf(array) > Math.min(room, MAX_BYTES)) return undefined;
    if (left > 0) {
      left--;
      return undefined;
    }
    const length = varintOf(array.length);
    this.#isOver = true;
    let bytes;
    try {
      bytes = (write ??= load())(array);
    } catch {
      // Another property cannot be cloned, or its getter throws.
      return undefined;
    }
    // A property besides the elements may hold anything; an element that is a getter may have changed the array.
    const start = [TAG.BEGIN_DENSE_ARRAY, ...length];
    const end = [TAG.END_DENSE_ARRAY, 0, ...length];
    untried = bytes[HEADER_BYTES] === TAG.BEGIN_SPARSE_ARRAY ? Math.min(2 * untried + 1, MAX_UNTRIED) : 0;
    left = untried;
    this.#isOver = !hasPart(bytes, start, HEADER_BYTES) || !hasPart(bytes, end, bytes.length - end.length);
    return this.#isOver ? undefined : bytes;
  }

  /**
   * Whether an array is known to have no enumerable properties besides its elements.
   * @param {unknown[]} array of at least `MIN_LENGTH` elements
   */
  haveOnlyElements(array) {
    if (isSupported || this.#isOver || typeof clone !== 'function' || bytesOf(array) > MAX_BYTES) return false;
    try {
      const copy = clone(array);
      copy.length = 0;
      this.#isOver = ownKeys(copy).length > 1;
    } catch {
      // Another property cannot be cloned.
      this.#isOver = true;
    }
    return !this.#isOver;
  }
}

module.exports = { HEADER_BYTES, MIN_LENGTH, PrimitiveArrays };
