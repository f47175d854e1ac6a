'use strict';
// Property keys that are array indices, and the memory that engines take for objects with such keys.

const { define, getPrototypeOf, ownKeys } = require('../../core/primordials.js');
const { ObjectPrototype } = require('./brand.js');
const { WEIGHT } = require('./reading-limits.js');

const { hasOwn: isOwn } = Object;
const ArrayPrototype = Array.prototype;

/** The greatest index, and the length of its name. */
const MAX_INDEX = 4_294_967_294;
const MAX_NAME = String(MAX_INDEX).length;
const NINE = '9'.charCodeAt(0);
/** An object gets no room for the gap before an index that is greater than this. */
const MAX_HOLES = 16;

/** @param {number} key */
const isIndex = (key) => key >= 0 && key <= MAX_INDEX && Math.floor(key) === key;

/**
 * @param {string} name
 * @returns {number} the index with that name; -1 if it is none
 */
function indexOfName(name) {
  if (name.length > MAX_NAME || name.charCodeAt(0) > NINE) return -1;
  const number = Number(name);
  return isIndex(number) && String(number) === name ? number : -1;
}

/**
 * Whether a new index would make an object sparse. Engines allocate room for all indices below it if the gap is not too large: up to thousands
 * of bytes for each such object.
 * @param {object} object
 * @param {number} index
 */
const leavesGap = (object, index) => index > MAX_HOLES && !isOwn(object, index - 1);

/**
 * Makes an object keep its indices in a table. Engines do so once it has had a very large index.
 * @param {any} object
 */
function makeSparse(object) {
  if (!isOwn(object, MAX_INDEX)) {
    define(object, MAX_INDEX, undefined, true, true);
    delete object[MAX_INDEX];
  }
}

/** Bytes that engines may allocate for gaps in all objects of a value, and for each index that is left out: they allocate more than is needed. */
const MAX_ROOM = 2 ** 18;
const GAP_BYTES = 12;
/** Gaps between indices of an object that make it sparse. Then it has too many elements for engines to allocate room for more gaps. */
const MAX_GAPS = 32;

/** The gaps between the indices of a value's objects. An object with few of them is read and used several times as fast if it is not sparse. */
class Gaps {
  constructor() {
    /** The object that got an index last, and the next index. @type {object | undefined} */
    this.object = undefined;
    this.next = 0;
    /** How often the object was made sparse. */
    this.count = 0;
    this.room = MAX_ROOM;
  }

  /**
   * An object gets an index.
   * @param {object} object
   * @param {number} index
   * @returns {number} bytes that the gap before it takes
   */
  before(object, index) {
    const first = this.object === object ? this.next : 0;
    if (this.object !== object) {
      this.object = object;
      this.count = 0;
    }
    this.next = index + 1;
    if ((index === first && index > 0) || !leavesGap(object, index)) return 0;
    const bytes = (index - first) * GAP_BYTES;
    if (bytes > 0 && bytes <= this.room) {
      this.room -= bytes;
      return bytes;
    }
    if (this.count++ < MAX_GAPS) makeSparse(object);
    return WEIGHT.SPARSE;
  }
}

/** @param {object} object whose indices are the first of its keys */
function beginsWithIndex(object) {
  const first = ownKeys(object)[0];
  return typeof first === 'string' && indexOfName(first) >= 0;
}

/** Whether arrays inherit elements. */
const inheritElements = () => getPrototypeOf(ArrayPrototype) !== ObjectPrototype || beginsWithIndex(ArrayPrototype) || beginsWithIndex(ObjectPrototype);

/** Up to this many elements, looking each up in Array.prototype takes less time than `inheritElements`. JavaScriptCore takes much longer for each of them than V8. */
const MAX_LOOKUPS = process.versions.bun === undefined ? 1024 : 64;

module.exports = { Gaps, indexOfName, inheritElements, isIndex, leavesGap, makeSparse, MAX_LOOKUPS };
