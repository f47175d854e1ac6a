'use strict';
// Reads keys, and gives objects and arrays what was read for them. Every property is made as CreateDataProperty makes it: `__proto__` is
// a key like any other, and no setter runs, whatever became of the prototypes.

const { define, ownKeys } = require('../../primordials.js');
const { ObjectPrototype } = require('./brand.js');
const { LeafReader, WEIGHT } = require('./leaf-reader.js');
const { MAX_WITHOUT_NOTE: MANY, note, noteOf } = require('./notes.js');
const { malformed } = require('./refusal.js');
const { TAG } = require('./tags.js');

const ArrayPrototype = Array.prototype;
const { hasOwn: isOwn } = Object;

const inheritedKeys = ownKeys(ObjectPrototype);
const inherited = new Set(inheritedKeys);
const SHORTEST_INHERITED = Math.min(...inheritedKeys.map((key) => String(key).length));
/** With fewer objects than this, looking every key up is cheaper than comparing Object.prototype with what it was. */
const FEW = 8;
/** Indices of an object behind a gap, from this one on, do not get room for the gap. */
const MAX_HOLES = 16;
const LARGE_INDEX = 4_294_967_294;

class PropertyReader extends LeafReader {
  /**
   * @param {Uint8Array} bytes
   * @param {unknown[]} table
   * @param {import('./leaf-reader.js').ReadHooks} hooks
   * @param {number} [weight]
   */
  constructor(bytes, table, hooks, weight) {
    super(bytes, table, hooks, weight);
    /** Whether Object.prototype has the keys that it had. @type {boolean | undefined} */
    this.standard = undefined;
  }

  /**
   * @param {object} object with many properties
   * @param {any} key
   * @param {any[]} keys of the object, to which this one is added
   */
  checkNew(object, key, keys) {
    if (isOwn(object, key)) throw malformed('a property twice');
    keys[keys.length] = key;
  }

  /**
   * @param {number} tag which is not taken yet
   * @returns {any} a string or number
   */
  key(tag) {
    this.position++;
    switch (tag) {
      case TAG.ONE_BYTE_STRING: return this.name();
      case TAG.INT32: return this.int32();
      case TAG.UINT32: return this.varint();
      case TAG.DOUBLE: return this.double();
      case TAG.TWO_BYTE_STRING: return this.twoByteString();
      case TAG.UTF8_STRING: return this.utf8String();
      default: throw malformed('a key that is neither string nor number');
    }
  }

  /**
   * @param {any} object a plain one
   * @param {any} key
   * @param {unknown} value
   */
  property(object, key, value) {
    if (typeof key === 'number' && key > MAX_HOLES && !isOwn(object, key - 1)) this.makeSparse(object);
    // Assigning is faster, and the same unless the prototype has the key, too.
    if (this.inherits(key)) define(object, key, value, true, true);
    else object[key] = value;
  }

  /**
   * Engines make room for all indices below one that is not much larger than they are: up to thousands of bytes for each such object.
   * An object that had a very large index has a table instead.
   * @param {any} object
   */
  makeSparse(object) {
    this.weight += WEIGHT.SPARSE;
    if (!isOwn(object, LARGE_INDEX)) {
      define(object, LARGE_INDEX, undefined, true, true);
      delete object[LARGE_INDEX];
    }
  }

  /** @param {any} key */
  inherits(key) {
    if (this.count < FEW) return key in ObjectPrototype;
    this.standard ??= isStandard();
    if (!this.standard) return key in ObjectPrototype;
    return typeof key === 'string' && key.length >= SHORTEST_INHERITED && inherited.has(key);
  }

  /**
   * @param {any[]} array
   * @param {number} index
   * @param {unknown} value
   */
  element(array, index, value) {
    if (index in ArrayPrototype) define(array, index, value, true, true);
    else array[index] = value;
  }
}

/**
 * @param {object} object
 * @param {number} count of the properties that it got
 */
function checkCount(object, count) {
  let found = 0;
  for (const key in object) if (isOwn(object, key)) found++;
  if (found !== count) throw malformed('a property twice');
}

/**
 * The keys of an object that gets large: those that it has, and those that are added to this list. Such an object is asked for each key
 * whether it has it already; a smaller one is looked at in the end.
 * @param {object} object
 * @param {number} count of the properties that it got
 * @returns {any}
 */
function keysOfLarge(object, count) {
  const noted = noteOf(object);
  if (noted !== undefined) return noted.keys;
  checkCount(object, count);
  const keys = Object.setPrototypeOf(ownKeys(object), null);
  note(object, keys, false);
  return keys;
}

/** Whether Object.prototype has exactly the keys that it had when this file was loaded. */
function isStandard() {
  const keys = ownKeys(ObjectPrototype);
  if (keys.length !== inheritedKeys.length) return false;
  for (let index = 0; index < keys.length; index++) if (keys[index] !== inheritedKeys[index]) return false;
  return true;
}

module.exports = { checkCount, keysOfLarge, MANY, PropertyReader };
