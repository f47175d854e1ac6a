'use strict';
// Objects of many primitives, with names that several objects before had in the same order. V8 describes such objects, and its own deserializer follows
// the descriptions, so it reads one in a quarter of the time that adding the properties takes. But it takes several times as long to describe many
// hundreds of new names. So it gets an object only once its names have been seen often, and the descriptions are kept.

const { getPrototypeOf, uncurryThis } = require('../../core/primordials.js');
const { ObjectPrototype } = require('./brand.js');
const { list } = require('./leaf-reader.js');
const { nativeReader, READABLE } = require('./native-reader.js');
const { WEIGHT } = require('./reading-limits.js');
const { TAG } = require('./tags.js');

const subarray = uncurryThis(Uint8Array.prototype.subarray);

/** V8 describes objects of up to this many properties. */
const MAX_NAMES = 1000;
/** Bytes that are read between two checks of the clock. */
const MAX_BYTES = 65_536;
const NINE = '9'.charCodeAt(0);
/** The bytes of a number after its tag, and of what is before the properties of an object that is a whole value. */
const DOUBLE_BYTES = 8;
const HEADER_BYTES = 3;

/** Objects with the same names until the engine reads them. */
const MIN_SEEN = 16;
/** How often names were seen in this order, by a hash. If others have the same hash, they are described too early. @type {Map<number, number>} */
const seen = new Map();
const MAX_SEEN = 256;
/** Objects without values, which keep the descriptions, by the hash of their names. @type {Map<number, object>} */
const kept = new Map();
const MAX_KEPT = 8;

/**
 * @typedef {object} Dictionary
 * @property {number} count of its properties
 * @property {number} end
 * @property {number} weight of its properties
 * @property {number} hash of its names
 */

/**
 * Checks an object of primitives.
 * @param {Uint8Array} bytes
 * @param {number} start after its tag
 * @param {number[]} [places] gets where each name begins, with its tag, and ends
 * @returns {Dictionary | undefined} undefined if it has anything else, or a name that may be an index
 */
function findDictionary(bytes, start, places) {
  const last = Math.min(start + MAX_BYTES, bytes.length);
  let count = 0;
  let weight = 0;
  let hash = 0;
  let at = start;
  // A byte beyond the end is undefined, and equal to no tag.
  for (; bytes[at] !== TAG.END_OBJECT; count++) {
    if (at >= last || count === MAX_NAMES) return undefined;
    if (bytes[at] === TAG.PADDING) at++;
    const size = bytes[at + 1];
    if (!(bytes[at] === TAG.ONE_BYTE_STRING || (bytes[at] === TAG.TWO_BYTE_STRING && (size & 1) === 0)) || !(size > 0 && size < 128)) return undefined;
    if (bytes[at + 2] <= NINE && (bytes[at] === TAG.ONE_BYTE_STRING || bytes[at + 3] === 0)) return undefined;
    if (places !== undefined) withPlace(places, at, at + 2 + size);
    at += 2 + size;
    // Its last characters usually distinguish a name from others.
    hash = (((hash * 31 + bytes[at - 1]) * 31 + bytes[at - 2]) * 31 + size) | 0;
    const tag = bytes[at] === TAG.PADDING ? bytes[++at] : bytes[at];
    const from = ++at;
    if (tag === TAG.INT32) {
      while (bytes[at] > 127) at++;
      if (at - from > 4 || (at - from === 4 && bytes[at] > 15)) return undefined;
      at++;
    } else if (tag === TAG.DOUBLE) {
      at += DOUBLE_BYTES;
      weight += WEIGHT.NUMBER;
    } else if (tag === TAG.ONE_BYTE_STRING || tag === TAG.TWO_BYTE_STRING) {
      let length = bytes[at++];
      if (length > 127) length = (length & 127) | (bytes[at++] << 7);
      if (!(length < 16_384) || (tag === TAG.TWO_BYTE_STRING && (length & 1) === 1)) return undefined;
      at += length;
      weight += WEIGHT.STRING + at - from;
    } else if (tag !== TAG.NULL && tag !== TAG.UNDEFINED && tag !== TAG.TRUE && tag !== TAG.FALSE) return undefined;
  }
  const low = bytes[at + 1];
  const isShort = low < 128;
  const end = at + (isShort ? 2 : 3);
  if (end > bytes.length || (isShort ? low : (low & 127) | (bytes[at + 2] << 7)) !== count) return undefined;
  return { count, end, weight: weight + count * WEIGHT.TABLE_PROPERTY, hash: (hash >>> 0) * (MAX_NAMES + 1) + count };
}

/**
 * @param {any[]} places without a prototype
 * @param {number} from
 * @param {number} to
 */
function withPlace(places, from, to) {
  places[places.length] = from;
  places[places.length] = to;
}

/**
 * The bytes of an object with the same names, and without values. If V8 described numbers first, it would describe all names again for each of the
 * other values.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {Dictionary} dictionary
 */
function withoutValues(bytes, start, { count, end }) {
  const places = list();
  findDictionary(bytes, start, places);
  const empty = new Uint8Array(end - start + HEADER_BYTES + count);
  let at = 0;
  const add = (/** @type {number} */ byte) => { empty[at++] = byte; };
  add(TAG.VERSION);
  add(READABLE);
  add(TAG.BEGIN_OBJECT);
  for (let index = 0; index < places.length; index += 2) {
    for (let from = places[index]; from < places[index + 1]; from++) add(bytes[from]);
    add(TAG.UNDEFINED);
  }
  add(TAG.END_OBJECT);
  add((count & 127) | 128);
  add(count >> 7);
  return subarray(empty, 0, at);
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end
 * @returns {any} undefined if V8 refuses the bytes, because of a name that occurs twice, or does not read them
 */
function readWhole(bytes, start, end) {
  const read = nativeReader();
  if (read === undefined) return undefined;
  // A header in place of what is before the tag.
  const header = start - HEADER_BYTES;
  const [first, second] = [bytes[header], bytes[header + 1]];
  bytes[header] = TAG.VERSION;
  bytes[header + 1] = READABLE;
  try {
    const object = read(subarray(bytes, header, end));
    return getPrototypeOf(object) === ObjectPrototype ? object : undefined;
  } catch {
    return undefined;
  } finally {
    bytes[header] = first;
    bytes[header + 1] = second;
  }
}

/**
 * Reads an object whose names were seen often.
 * @param {Uint8Array} bytes
 * @param {number} start after its tag
 * @param {Dictionary} dictionary
 * @returns {{ object: any, weight: number } | undefined} with the bytes that it takes; undefined if JavaScript should read it
 */
function readDictionary(bytes, start, dictionary) {
  const { hash, count, end } = dictionary;
  let { weight } = dictionary;
  if (!kept.has(hash)) {
    const times = (seen.get(hash) ?? 0) + 1;
    if (seen.size === MAX_SEEN) seen.clear();
    seen.set(hash, times);
    if (times < MIN_SEEN) return undefined;
    const names = withoutValues(bytes, start, dictionary);
    const empty = readWhole(names, HEADER_BYTES, names.length);
    if (empty === undefined) return undefined;
    if (kept.size === MAX_KEPT) {
      kept.clear();
      seen.clear();
    }
    kept.set(hash, empty);
    weight += count * WEIGHT.SHAPE;
  }
  const object = readWhole(bytes, start, end);
  return object === undefined ? undefined : { object, weight };
}

module.exports = { findDictionary, readDictionary };
