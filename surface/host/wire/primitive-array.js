'use strict';
// Arrays without other properties. To find out in JavaScript that an array has no properties besides its elements, all their keys must be listed,
// which takes several times as long as writing them. If the host's engine is V8, its own serializer writes large arrays of primitives. Otherwise,
// the keys of a copy without elements are listed if the elements are numbers or many short strings, and those of other arrays are counted.

const { uncurryThis } = require('../../core/primordials.js');
const { ObjectPrototype } = require('./brand.js');
const { TAG } = require('./tags.js');

const { structuredClone: clone } = globalThis;
const { getPrototypeOf, keys: ownEnumerableKeys } = Object;
const ArrayPrototype = Array.prototype;

/** Arrays of fewer elements are not worth it: creating a serializer takes as long as listing this many keys. */
const MIN_LENGTH = 256;

/** @type {any} */
const Deno = Reflect.get(globalThis, 'Deno');
/** The serializer of Deno's core: its `Serializer` of node:v8 never releases what it has written. */
const serialize = Deno?.[Deno.internal]?.core?.serialize;

/** Whether the host's engine is V8. Its format for arrays of primitives is the same in all versions that are supported. */
const isSupported = Deno === undefined ? process.versions.bun === undefined && process.versions.v8 !== undefined : typeof serialize === 'function';

/** JavaScriptCore lists the keys of arrays of fewer elements as fast as it counts them. */
const MIN_COUNTED = 8;

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

/** JavaScriptCore clones strings of up to this many bytes in less time than it counts keys, if there are this many. */
const SHORT_STRING = 64;
const MANY_STRINGS = 4096;

/**
 * Whether an array is cloned in less time than its keys are counted.
 * @param {unknown[]} array
 */
function clonesFast(array) {
  const most = array.length < MANY_STRINGS ? ELEMENT_BYTES : SHORT_STRING;
  return bytesOf(array) <= Math.min(MAX_BYTES, most * array.length);
}

/**
 * Whether an array has as many enumerable properties as elements, and the last element is the last of them: then it has no others. Inherited
 * properties count as well.
 * @param {unknown[]} array with the prototype `Array.prototype`
 */
function hasOnlyIndices(array) {
  // A proxy would observe the loop.
  if (getPrototypeOf(ArrayPrototype) !== ObjectPrototype) return false;
  let count = 0;
  let last = '';
  for (const key in array) {
    count++;
    last = key;
  }
  return count === array.length && last === `${count - 1}`;
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
   * @param {unknown[]} array of at least `MIN_COUNTED` elements, with the prototype `Array.prototype`
   */
  haveOnlyElements(array) {
    if (this.#isOver || typeof clone !== 'function' || !clonesFast(array)) return hasOnlyIndices(array);
    try {
      const copy = clone(array);
      copy.length = 0;
      this.#isOver = ownEnumerableKeys(copy).length > 0;
    } catch {
      // Another property cannot be cloned.
      this.#isOver = true;
    }
    return !this.#isOver;
  }
}

module.exports = { HEADER_BYTES, isSupported, MIN_COUNTED, MIN_LENGTH, PrimitiveArrays };
