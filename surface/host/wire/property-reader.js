'use strict';
// Reads keys, and adds properties to objects and arrays. Every property is created as CreateDataProperty does: `__proto__` is a key like
// any other, and no setter runs, even if the prototypes were changed.

const { define, ownKeys } = require('../../core/primordials.js');
const { ObjectPrototype } = require('./brand.js');
const { findDictionary, readDictionary } = require('./dictionaries.js');
const { Gaps, indexOfName, inheritElements, isIndex, MAX_LOOKUPS } = require('./indices.js');
const { LeafReader } = require('./leaf-reader.js');
const { MAX_WITHOUT_NOTE: MANY, note, noteOf } = require('./notes.js');
const { isSupported } = require('./native-reader.js');
const { WEIGHT } = require('./reading-limits.js');
const { malformed } = require('./refusal.js');
const {
  addedNames, BYTES_PER_CHARACTER, checkCount, EMPTY, hasShape, INDEXED, learn, likelyPlace, makeTable, MIN_TABLE, NAMES, names, newShape, numbers, placeOf, shapes, shapeWith, TABLE,
} = require('./shapes.js');
const { latin1Slice, oneByteText } = require('./short-text.js');
const { findRun, stringsOf } = require('./string-runs.js');
const { TAG } = require('./tags.js');

/** The most bytes that `numbersAndConstants` reads for an element. */
const NUMBER_BYTES = 9;
/** The most bytes that `sparseElements` reads for an element, apart from the characters of a string: two tags, an index and a number. */
const SPARSE_BYTES = 6 + NUMBER_BYTES;
/** Indices below this are written as int32. */
const MAX_INT_INDEX = 2 ** 30;
const ArrayPrototype = Array.prototype;
const { hasOwn: isOwn } = Object;

const inheritedKeys = ownKeys(ObjectPrototype);
const inherited = new Set(inheritedKeys);
const MIN_INHERITED = Math.min(...inheritedKeys.map((key) => String(key).length));
/** Looking up this many keys is cheaper than comparing the keys of Object.prototype with the original ones. */
const FEW = 24;
/** One-byte names up to this length are compared with known names before a string is created, which saves creating and hashing it. */
const SHORT_NAME = 48;

/**
 * Whether the name at a place equals these bytes.
 * @param {number} place
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} length
 */
function isAt(place, bytes, start, length) {
  const name = names[place];
  if (name.length !== length) return false;
  for (let index = 0; index < length; index++) if (name.charCodeAt(index) !== bytes[start + index]) return false;
  return true;
}

/** @param {number} tag */
const isConstant = (tag) => tag === TAG.NULL || tag === TAG.TRUE || tag === TAG.FALSE || tag === TAG.UNDEFINED;

/** @param {number} tag of a constant */
const constantOf = (tag) => (tag === TAG.NULL ? null : tag === TAG.UNDEFINED ? undefined : tag === TAG.TRUE);

class PropertyReader extends LeafReader {
  /**
   * @param {Uint8Array} bytes
   * @param {unknown[]} table
   * @param {import('./leaf-reader.js').ReadHooks} hooks
   * @param {number} [weight]
   */
  constructor(bytes, table, hooks, weight) {
    super(bytes, table, hooks, weight);
    /** Whether Object.prototype still has its original keys. @type {boolean | undefined} */
    this.standard = undefined;
    /** Whether arrays inherit elements. @type {boolean | undefined} */
    this.inheritsElements = undefined;
    /** The number of the last key that was read. */
    this.nameNumber = 0;
    /** The shape of an object with that key. */
    this.shape = EMPTY;
    /** Whether that key is a name that was seen before. */
    this.isKnown = true;
    /** The large object that got a property last, and its keys. @type {object | undefined} */
    this.large = undefined;
    /** @type {any} */
    this.largeKeys = undefined;
    /** Once an object has got an index. @type {InstanceType<typeof Gaps> | undefined} */
    this.gaps = undefined;
    /** Keys that were looked up in Object.prototype. */
    this.lookups = 0;
    /** Elements that were looked up in Array.prototype. */
    this.elementLookups = 0;
  }

  /**
   * Makes an object with many properties a table.
   * @param {object} object
   * @param {number} count of its properties
   * @param {number} shape
   */
  becomeTable(object, count, shape) {
    checkCount(object, count, shape);
    makeTable(object);
    this.shape = TABLE | (this.shape & INDEXED);
  }

  /**
   * Reads a whole object of primitives, if its names were seen often.
   * @param {number} start after its tag; 0 if it was put aside since
   * @param {number} objects that had numbers then, of which it has the last one
   * @param {number} weight at that time
   * @returns {any} the object, which takes that number; undefined if nothing was read
   */
  dictionary(start, objects, weight) {
    const found = isSupported && start > 0 && this.count === objects ? findDictionary(this.bytes, start) : undefined;
    const whole = found === undefined ? undefined : readDictionary(this.bytes, start, found);
    if (found === undefined || whole === undefined) return undefined;
    this.position = found.end;
    this.weight = weight;
    this.checkWeight(whole.weight);
    return (this.objects[objects - 1] = whole.object);
  }

  /**
   * Adds a property to a table.
   * @param {object} object
   * @param {any} key
   * @param {unknown} value
   * @param {number} count of its properties
   */
  addToTable(object, key, value, count) {
    if (isOwn(object, key)) throw malformed('a property twice');
    if (count >= MANY) {
      if (this.large !== object) {
        this.large = object;
        this.largeKeys = keysOfLarge(object);
      }
      this.largeKeys[this.largeKeys.length] = key;
    }
    this.property(object, key, value);
  }

  /**
   * @param {number} tag not consumed yet
   * @returns {any} a string or number
   */
  key(tag) {
    this.position++;
    switch (tag) {
      case TAG.ONE_BYTE_STRING: return this.name();
      case TAG.INT32: return this.numericKey(this.int32());
      case TAG.UINT32: return this.numericKey(this.varint());
      case TAG.DOUBLE: return this.numericKey(this.double());
      case TAG.TWO_BYTE_STRING: return this.nameOf(this.twoByteString());
      case TAG.UTF8_STRING: return this.nameOf(this.utf8String());
      default: throw malformed('a key that is neither string nor number');
    }
  }

  /** Reads a property's name, a one-byte string after its tag. It was probably seen before. */
  name() {
    const length = this.varint();
    this.require(length);
    const { bytes, position: start } = this;
    this.position = start + length;
    if (length > SHORT_NAME) return this.nameOf(latin1Slice.call(bytes, start, this.position));
    let hash = length;
    for (let index = 0; index < length; index++) hash = (hash * 31 + bytes[start + index]) | 0;
    const place = (hash & (NAMES / 2 - 1)) * 2;
    if (isAt(place, bytes, start, length)) {
      this.nameNumber = numbers[place];
      return names[place];
    }
    if (isAt(place + 1, bytes, start, length)) {
      this.nameNumber = numbers[place + 1];
      return names[place + 1];
    }
    return this.newName(place, oneByteText(bytes, start, length));
  }

  /**
   * @param {string} name
   * @returns {any} an equal name, one that was seen before if possible
   */
  nameOf(name) {
    const first = placeOf(name);
    const place = names[first] === name ? first : first + 1;
    if (names[place] !== name) return this.newName(first, name);
    this.nameNumber = numbers[place];
    return names[place];
  }

  /**
   * @param {number} key
   * @returns {any} an index as a number, anything else as a string
   */
  numericKey(key) {
    if (isIndex(key)) {
      this.nameNumber = 0;
      return key;
    }
    return this.nameOf(String(key));
  }

  /**
   * @param {number} place
   * @param {string} name
   * @returns {any} the name, as a number if it is an index: engines treat both in the same way
   */
  newName(place, name) {
    const index = indexOfName(name);
    if (index >= 0) return this.numericKey(index);
    this.weight += WEIGHT.NAME + name.length * BYTES_PER_CHARACTER;
    this.nameNumber = learn(place, name);
    this.isKnown = false;
    return name;
  }

  /**
   * Reads a key of an object and charges for it. Afterwards, `this.shape` is the object's shape with that key.
   * @param {number} tag not consumed yet
   * @param {number} shape of the object
   * @param {number} count of its properties
   * @returns {any}
   */
  keyOf(tag, shape, count) {
    this.isKnown = true;
    const place = (tag === TAG.ONE_BYTE_STRING || tag === TAG.TWO_BYTE_STRING) && hasShape(shape) ? likelyPlace(shape) : -1;
    if (place >= 0) {
      const name = addedNames[place];
      if (tag === TAG.ONE_BYTE_STRING ? this.skipName(name) : this.skipWideName(name)) {
        this.shape = shapes[place];
        this.weight += count < MIN_TABLE ? WEIGHT.PROPERTY : WEIGHT.TABLE_PROPERTY;
        return name;
      }
    }
    const key = this.key(tag);
    this.shape = this.shapeWith(shape, count, key);
    return key;
  }

  /**
   * Consumes a one-byte string with its tag, if it is this name.
   * @param {string} name
   * @returns {boolean} false if it is another string
   */
  skipName(name) {
    const { bytes, position } = this;
    const { length } = name;
    const start = position + 2;
    if (bytes[position + 1] !== length || start + length > this.end) return false;
    for (let index = 0; index < length; index++) if (name.charCodeAt(index) !== bytes[start + index]) return false;
    this.position = start + length;
    return true;
  }

  /**
   * Consumes a two-byte string with its tag, if it is this name, and has fewer than 64 characters.
   * @param {string} name
   * @returns {boolean} false if it is another string
   */
  skipWideName(name) {
    const { bytes, position } = this;
    const size = name.length * 2;
    let at = position + 2;
    if (size > 127 || bytes[position + 1] !== size || at + size > this.end) return false;
    for (let index = 0; index < name.length; index++, at += 2) if (name.charCodeAt(index) !== (bytes[at] | (bytes[at + 1] << 8))) return false;
    this.position = at;
    return true;
  }

  /**
   * @param {number} shape
   * @param {number} count
   * @param {any} key
   */
  shapeWith(shape, count, key) {
    const name = this.nameNumber;
    if (name === 0) {
      this.weight += shape & INDEXED ? WEIGHT.INDEX : WEIGHT.INDICES;
      return shape | INDEXED;
    }
    this.weight += count < MIN_TABLE ? WEIGHT.PROPERTY : WEIGHT.TABLE_PROPERTY;
    if (!hasShape(shape)) return shape;
    const known = shapeWith(shape, name);
    if (known !== 0) return known;
    this.weight += WEIGHT.SHAPE;
    return newShape(shape, name, key);
  }

  /**
   * @param {any} object a plain object
   * @param {any} key
   * @param {unknown} value
   */
  property(object, key, value) {
    if (typeof key === 'number') this.weight += (this.gaps ??= new Gaps()).before(object, key);
    // Assigning is faster, and has the same effect unless the prototype has the key, too.
    if (this.inherits(key)) define(object, key, value, true, true);
    else object[key] = value;
  }

  /** @param {any} key */
  inherits(key) {
    if (this.standard === undefined) {
      if (this.lookups++ < FEW) return key in ObjectPrototype;
      this.standard = isStandard();
    }
    if (!this.standard) return key in ObjectPrototype;
    return typeof key === 'string' && key.length >= MIN_INHERITED && inherited.has(key);
  }

  /**
   * @param {any[]} array
   * @param {number} index
   * @param {unknown} value
   */
  element(array, index, value) {
    if (this.mayInherit(1) && index in ArrayPrototype) define(array, index, value, true, true);
    else array[index] = value;
  }

  /**
   * Whether an array has an element or a property itself. `in` is several times as fast as a check for an own property, above all in JavaScriptCore.
   * @param {any[]} array
   * @param {any} key
   */
  hasOwn(array, key) {
    return typeof key === 'number' && !this.mayInherit(1) ? key in array : isOwn(array, key);
  }

  /**
   * Whether an array may inherit an element. No other code runs until the reader pauses, so few elements have to be looked up.
   * @param {number} count of elements that will be added
   */
  mayInherit(count) {
    if (this.inheritsElements !== undefined) return this.inheritsElements;
    this.elementLookups += count;
    return this.elementLookups < MAX_LOOKUPS || (this.inheritsElements = inheritElements());
  }

  /**
   * Reads elements that are strings, if there are many of them.
   * @param {any[]} array
   * @param {number} index of the first
   * @param {number} length of the array
   * @returns {number} the index after the last one that was read
   */
  strings(array, index, length) {
    const run = findRun(this.bytes, this.position, length - index);
    if (run === undefined) return index;
    this.checkWeight(run.weight);
    const strings = stringsOf(this.bytes, this.position, run);
    this.position = run.end;
    if (this.mayInherit(run.count)) for (let at = 0; at < run.count; at++) this.element(array, index + at, strings[at]);
    else for (let at = 0; at < run.count; at++) array[index + at] = strings[at];
    // The host's deserializer holds the list until it is collected itself, which takes more than a collection of young objects.
    strings.length = 0;
    return index + run.count;
  }

  /**
   * Reads elements that are numbers, dates or constants, as many as there are before the mark. Each kind is stored in a place of its own, as
   * `element` does: V8 stores faster where all arrays have been of one kind.
   * @param {any[]} array
   * @param {number} index of the first
   * @param {number} length of the array
   * @returns {number} the index after the last one that was read
   */
  numbersAndConstants(array, index, length) {
    const { bytes } = this;
    const view = this.viewOfBytes();
    const last = Math.min(this.mark, this.end - NUMBER_BYTES + 1);
    const mayInherit = this.mayInherit(length - index);
    let { position } = this;
    for (; index < length && position < last; index++) {
      const tag = bytes[position];
      if (tag === TAG.INT32) {
        const byte = bytes[position + 1];
        let value = byte & 127;
        if (byte < 128) {
          position += 2;
        } else {
          value |= (bytes[position + 2] & 127) << 7;
          if (bytes[position + 2] < 128) {
            position += 3;
          } else if (bytes[position + 3] < 128) {
            value |= bytes[position + 3] << 14;
            position += 4;
          } else break;
        }
        const integer = (value >>> 1) ^ -(value & 1);
        if (mayInherit && index in ArrayPrototype) define(array, index, integer, true, true);
        else array[index] = integer;
      } else if (tag === TAG.DOUBLE) {
        this.weight += WEIGHT.NUMBER;
        const number = view.getFloat64(position + 1, true);
        if (mayInherit && index in ArrayPrototype) define(array, index, number, true, true);
        else array[index] = number;
        position += NUMBER_BYTES;
      } else if (tag === TAG.DATE) {
        this.weight += WEIGHT.DATE;
        this.element(array, index, this.register(new Date(view.getFloat64(position + 1, true))));
        position += NUMBER_BYTES;
      } else if (isConstant(tag)) {
        if (mayInherit && index in ArrayPrototype) define(array, index, constantOf(tag), true, true);
        else array[index] = constantOf(tag);
        position++;
      } else break;
    }
    this.position = position;
    return index;
  }

  /**
   * Reads elements of a sparse array that follow one another, as long as they are primitives in a short form before the mark.
   * @param {any[]} array
   * @param {number} index of the first
   * @param {number} length up to which elements are read
   * @returns {number} the index after the last one that was read
   */
  sparseElements(array, index, length) {
    const { bytes } = this;
    const view = this.viewOfBytes();
    const last = Math.min(this.mark, this.end - SPARSE_BYTES + 1);
    const limit = Math.min(length, MAX_INT_INDEX);
    const first = index;
    let { position } = this;
    for (; index < limit && position < last; index++) {
      if (bytes[position] !== TAG.INT32) break;
      let at = position + 1;
      let rest = index * 2;
      for (; rest > 127 && bytes[at] === ((rest & 127) | 128); rest >>>= 7) at++;
      if (bytes[at++] !== rest) break;
      const tag = bytes[at++];
      if (tag === TAG.INT32) {
        const byte = bytes[at++];
        let value = byte & 127;
        if (byte > 127) {
          value |= (bytes[at] & 127) << 7;
          if (bytes[at++] > 127) {
            value |= bytes[at] << 14;
            if (bytes[at++] > 127) break;
          }
        }
        this.element(array, index, (value >>> 1) ^ -(value & 1));
      } else if (tag === TAG.DOUBLE) {
        this.weight += WEIGHT.NUMBER;
        this.element(array, index, view.getFloat64(at, true));
        at += 8;
      } else if (tag === TAG.ONE_BYTE_STRING) {
        const size = bytes[at++];
        const end = at + size;
        if (size > 127 || end > this.end) break;
        this.weight += WEIGHT.STRING + 1 + size;
        this.element(array, index, oneByteText(bytes, at, size));
        at = end;
      } else if (isConstant(tag)) {
        this.element(array, index, constantOf(tag));
      } else break;
      position = at;
    }
    this.position = position;
    this.weight += (index - first) * WEIGHT.ELEMENT;
    return index;
  }
}

/**
 * The keys of an object that becomes large: those that it has, and those that are added to this list.
 * @param {object} object
 * @returns {any}
 */
function keysOfLarge(object) {
  const noted = noteOf(object);
  if (noted !== undefined) return noted.keys;
  const keys = Object.setPrototypeOf(ownKeys(object), null);
  note(object, keys, 0);
  return keys;
}

/** Whether Object.prototype has exactly the keys that it had when this file was loaded. */
function isStandard() {
  const keys = ownKeys(ObjectPrototype);
  if (keys.length !== inheritedKeys.length) return false;
  for (let index = 0; index < keys.length; index++) if (keys[index] !== inheritedKeys[index]) return false;
  return true;
}

module.exports = { isConstant, PropertyReader };
