'use strict';
// Writes a value as V8 does, with the same tags, order of reads and object numbers, so that V8 can read it. Getters run once, and their
// errors pass through. Anything that a getter may have changed is checked again before it is written. Where V8 decides by hidden state,
// the writer decides by visible state: an array without holes is dense, even if some of its elements are getters or are not enumerable
// (V8 would omit the latter); an int32 is an integer.
//
// Nothing recurses deeper than RECURSION_LEVELS. A container that would is put aside, and so are the containers around it, innermost
// first. `run` continues them from its own stack.

const { isReadable, readableText, readStack } = require('./faults.js');
const { uncurryThis, getOwnPropertyDescriptor, getPrototypeOf, isArray } = require('../../core/primordials.js');
const { arriving } = require('./arriving.js');
const { BRAND, brandOf, CERTAIN, certainOf, domExceptionMessage, isDate, isProxy, isRegExp, isView, mayBeRecord, ObjectPrototype } = require('./brand.js');
const { inheritElements, MAX_LOOKUPS } = require('./indices.js');
const { LeafWriter } = require('./leaf-writer.js');
const { HEADER_BYTES, isSupported, MIN_COUNTED, MIN_LENGTH, PrimitiveArrays } = require('./primitive-array.js');
const { messageWithoutSource, tooDeep, uncloneable } = require('./refusal.js');
const { DEFAULT_MAX_DEPTH, ERROR_PROTOTYPES, ERROR_TAG, RECURSION_LEVELS, TAG } = require('./tags.js');

/**
 * @typedef {object} Frame a container that was put aside
 * @property {number} kind one of `KIND`: what is left to do
 * @property {any} object
 * @property {any[]} parts keys, or the entries of a map or set
 * @property {number} index of the next part
 * @property {number} count of the properties written
 * @property {number} end tag
 * @property {number} length of an array, else -1
 */

const KIND = Object.freeze({
  // Not started:
  RECORD: 0,
  ORDINARY: 1,
  ARRAY: 2,
  MAP: 3,
  SET: 4,
  ERROR: 5,
  // Partly written:
  ELEMENTS: 6,
  PROPERTIES: 7,
  ENTRIES: 8,
  CAUSE: 9,
  INSTANCE: 10, // not started, and certainly one
});

const ArrayPrototype = Array.prototype;
const DatePrototype = Date.prototype;
const RegExpPrototype = RegExp.prototype;
const { hasOwn: isOwn, keys: ownEnumerableKeys } = Object;
const { hasOwnProperty } = Object.prototype;
const forEachInMap = uncurryThis(Map.prototype.forEach);
const forEachInSet = uncurryThis(Set.prototype.forEach);
const subarray = uncurryThis(Uint8Array.prototype.subarray);

/** @type {string[]} */
const NO_KEYS = [];
const LARGEST_INDEX = 4_294_967_294;
/** The first indices as keys. */
const INDICES = Array.from({ length: 32 }, (_, index) => `${index}`);
const ZERO = 48;
const NINE = 57;

/**
 * The array index that a key represents, or -1.
 * @param {string} key
 */
function indexOf(key) {
  const first = key.charCodeAt(0);
  if (!(first >= ZERO && first <= NINE) || key.length > 10) return -1;
  const number = +key;
  return Number.isInteger(number) && number <= LARGEST_INDEX && `${number}` === key ? number : -1;
}

/**
 * Whether an array has an index as its own property. `in` is many times faster than a check for an own property, and gives the same
 * result if the prototypes have no such index.
 * @param {unknown[]} array
 * @param {number} index
 * @param {boolean} plain whether the array's prototype is Array.prototype
 */
const hasIndex = (array, index, plain) => (plain && !(index in ArrayPrototype) ? index in array : isOwn(array, index));

/** An object that V8 keeps as a table. */
const TABLE = Object.freeze({ __proto__: null, a: 0, b: 0, c: 0 });
/** More than the bytes that it takes. */
const TABLE_BYTES = 64;
/** Keys so far that were indices. Each time that there are so many more, V8 may have forgotten the table. */
let indices = 0;
const INDICES_BETWEEN = 4096;

/** What a writer has that is done. @type {Frame[]} */
const NO_FRAMES = [];

class Writer extends LeafWriter {
  /**
   * @param {import('./leaf-writer.js').WriteHooks} hooks
   * @param {import('./sink.js').Scratch} [place] for a small value
   */
  constructor(hooks, place = null) {
    super(hooks, place);
    this.maxDepth = hooks.maxDepth ?? DEFAULT_MAX_DEPTH;
    /** Containers around those on the native stack. */
    this.outside = 0;
    /** Levels of recursion that are allowed: fewer near the depth limit. */
    this.room = Math.min(RECURSION_LEVELS, this.maxDepth);
    /** @type {Frame[]} containers that the current run put aside, innermost first */
    this.aside = [];
    /** Writes large arrays of primitives, once there are any. @type {InstanceType<typeof PrimitiveArrays> | undefined} */
    this.primitiveArrays = undefined;
  }

  /** @override */
  release() {
    super.release();
    this.aside = NO_FRAMES;
    this.primitiveArrays = undefined;
  }

  /** @param {unknown} root */
  run(root) {
    this.header();
    if (this.value(root, 0)) return;
    const stack = /** @type {Frame[]} */ ([]);
    for (;;) {
      for (let index = this.aside.length - 1; index >= 0; index--) stack.push(this.aside[index]);
      this.aside.length = 0;
      const frame = stack.pop();
      if (frame === undefined) return;
      this.outside = stack.length;
      this.room = Math.min(RECURSION_LEVELS, this.maxDepth - this.outside);
      this.resume(frame);
    }
  }

  /** @param {Frame} frame */
  resume({ kind, object, parts, index, count, end, length }) {
    switch (kind) {
      case KIND.ELEMENTS: return this.elements(object, index, length, 0, getPrototypeOf(object) === ArrayPrototype);
      case KIND.PROPERTIES: return this.properties(object, parts, index, count, end, length, 0);
      case KIND.ENTRIES: return this.entries(parts, index, end, 0);
      case KIND.CAUSE: return this.errorEnd();
      default: return this.container(kind, object, 0);
    }
  }

  /**
   * Puts a container aside, to write the rest of it later.
   * @param {number} kind
   * @param {object} object
   * @param {any[]} parts
   * @param {number} index
   * @param {number} count
   * @param {number} end
   * @param {number} length
   */
  putAside(kind, object, parts, index, count, end, length) {
    this.aside.push({ kind, object, parts, index, count, end, length });
    return false;
  }

  /**
   * @param {unknown} value
   * @param {number} level of recursion
   * @returns {boolean} whether all of it is written; false means that it was put aside, and the caller must be put aside, too
   */
  value(value, level) {
    // V8 compiles a comparison with `typeof` to a check, and a switch to a call.
    if (typeof value === 'string') {
      this.string(value);
      return true;
    }
    if (typeof value === 'number') {
      this.number(value);
      return true;
    }
    if (typeof value === 'object' && value !== null) return this.object(value, level);
    if (value === null) {
      this.byte(TAG.NULL);
      return true;
    }
    switch (typeof value) {
      case 'boolean': this.byte(value ? TAG.TRUE : TAG.FALSE); return true;
      case 'undefined': this.byte(TAG.UNDEFINED); return true;
      case 'bigint':
        this.byte(TAG.BIGINT);
        this.bigint(value);
        return true;
      case 'function':
        if (!this.referenceOrRegister(value) && !this.handle(value)) throw uncloneable(value);
        return true;
      default: throw uncloneable(value);
    }
  }

  /**
   * @param {object} object
   * @param {number} level
   * @returns {boolean}
   */
  object(object, level) {
    if (isView(object)) {
      // Its buffer is numbered before it.
      if (!this.reference(object)) this.view(object);
      return true;
    }
    if (this.referenceOrRegister(object)) return true;
    if (isProxy(object)) throw uncloneable(object);
    if (isArray(object)) return this.container(KIND.ARRAY, object, level);
    const prototype = getPrototypeOf(object);
    const plain = prototype === ObjectPrototype || prototype === null;
    if (plain && mayBeRecord(object)) return this.container(KIND.RECORD, object, level);
    if (prototype === DatePrototype && isDate(object)) {
      this.leaf(BRAND.DATE, object);
      return true;
    }
    if (prototype === RegExpPrototype && isRegExp(object)) {
      this.leaf(BRAND.REGEXP, object);
      return true;
    }
    if (!plain && this.handle(object)) return true;
    return this.branded(object, prototype, level);
  }

  /**
   * @param {object} object neither a handle nor a record
   * @param {object | null} prototype of the object
   * @param {number} level
   * @returns {boolean}
   */
  branded(object, prototype, level) {
    const certain = certainOf(object, prototype);
    if (certain === CERTAIN.INSTANCE) return this.container(KIND.INSTANCE, object, level);
    const brand = certain === CERTAIN.ORDINARY ? BRAND.ORDINARY : brandOf(object);
    if (brand === BRAND.REFUSED) throw uncloneable(object);
    switch (brand) {
      case BRAND.ORDINARY: return this.container(KIND.ORDINARY, object, level);
      case BRAND.MAP: return this.container(KIND.MAP, object, level);
      case BRAND.SET: return this.container(KIND.SET, object, level);
      case BRAND.ERROR:
      case BRAND.DOM_EXCEPTION: return this.container(KIND.ERROR, object, level);
      default:
        this.leaf(brand, object);
        return true;
    }
  }

  /**
   * @param {number} kind
   * @param {any} object already registered
   * @param {number} level
   * @returns {boolean}
   */
  container(kind, object, level) {
    if (level >= this.room) {
      if (this.outside + level >= this.maxDepth) throw tooDeep(this.maxDepth);
      return this.putAside(kind, object, [], 0, 0, 0, -1);
    }
    switch (kind) {
      case KIND.RECORD:
      case KIND.INSTANCE: return this.record(object, level, kind);
      case KIND.ORDINARY:
        this.byte(TAG.BEGIN_OBJECT);
        return this.properties(object, ownEnumerableKeys(object), 0, 0, TAG.END_OBJECT, -1, level);
      case KIND.ARRAY: return this.array(object, level);
      case KIND.ERROR: return this.error(object, level);
      case KIND.MAP: return this.map(object, level);
      default: return this.set(object, level);
    }
  }

  /**
   * An instance, or a record, if the object has a key. `for in` is the fastest way to list its keys. There is no proxy in its prototype
   * chain, and inherited keys are skipped.
   * @param {any} object for which `mayBeRecord` is true, or an instance
   * @param {number} level
   * @param {number} kind RECORD or INSTANCE
   * @returns {boolean}
   */
  record(object, level, kind) {
    let count = 0;
    /** @type {string[] | undefined} the keys after the value that was put aside */
    let rest;
    for (const key in object) {
      if (rest !== undefined) {
        rest.push(key);
      } else if (hasOwnProperty.call(object, key)) {
        if (count === 0) this.byte(TAG.BEGIN_OBJECT);
        const value = object[key];
        if (typeof value === 'object') arriving.part = value;
        this.key(key);
        count++;
        if (!this.value(value, level + 1)) rest = [];
      }
    }
    if (rest !== undefined) return this.putAside(KIND.PROPERTIES, object, rest, 0, count, TAG.END_OBJECT, -1);
    if (count === 0) {
      if (kind === KIND.RECORD) return this.branded(object, getPrototypeOf(object), level);
      this.byte(TAG.BEGIN_OBJECT);
    }
    this.byte(TAG.END_OBJECT);
    this.varint(count);
    return true;
  }

  /**
   * The properties with these keys, if they still exist, and the end of the object or array.
   * @param {any} object
   * @param {string[]} keys
   * @param {number} index
   * @param {number} count
   * @param {number} end
   * @param {number} length of an array, else -1
   * @param {number} level
   */
  properties(object, keys, index, count, end, length, level) {
    while (index < keys.length) {
      const key = keys[index++];
      if (!isOwn(object, key)) continue;
      const value = object[key];
      if (typeof value === 'object') arriving.part = value;
      this.key(key);
      count++;
      if (!this.value(value, level + 1)) return this.putAside(KIND.PROPERTIES, object, keys, index, count, end, length);
    }
    this.byte(end);
    this.varint(count);
    if (length >= 0) this.varint(length);
    return true;
  }

  /** @param {string} key array indices are written as numbers */
  key(key) {
    const first = key.charCodeAt(0);
    const index = first >= ZERO && first <= NINE ? indexOf(key) : -1;
    if (index >= 0 && indices++ % INDICES_BETWEEN === 0) this.generalize();
    if (index < 0) this.string(key);
    else this.number(index);
  }

  /**
   * Writes an object and takes it back. V8 does not note the keys that `record` reads from most objects. If it has noted only an object with indices, the
   * code that it optimizes `record` to fails for all others, again and again, and records take several times as long. After this object, it does not.
   */
  generalize() {
    const { position } = this;
    if (this.maxBytes - position - this.tableBytes > TABLE_BYTES) this.record(TABLE, 0, KIND.INSTANCE);
    this.position = position;
  }

  /**
   * @param {unknown[]} array
   * @param {number} level
   */
  array(array, level) {
    const { length } = array;
    const plain = getPrototypeOf(array) === ArrayPrototype;
    // `in` runs no code of the array.
    const isAlone = plain && length >= MAX_LOOKUPS && !inheritElements();
    for (let index = 0; index < length; index++) {
      if (isAlone ? index in array : hasIndex(array, index, plain)) continue;
      this.byte(TAG.BEGIN_SPARSE_ARRAY);
      this.varint(length);
      return this.properties(array, ownEnumerableKeys(array), 0, 0, TAG.END_SPARSE_ARRAY, length, level);
    }
    const bytes = plain && length >= MIN_LENGTH ? (this.primitiveArrays ??= new PrimitiveArrays()).bytes(array, this.maxBytes - this.position - this.tableBytes) : undefined;
    if (bytes !== undefined) {
      this.written(bytes);
      return true;
    }
    this.byte(TAG.BEGIN_DENSE_ARRAY);
    this.varint(length);
    return this.elements(array, 0, length, level, plain);
  }

  /** @param {Uint8Array} bytes of an array, after a header */
  written(bytes) {
    if (this.position === HEADER_BYTES) {
      // It is the whole value.
      this.replace(bytes);
      return;
    }
    if (this.position & 1) this.byte(TAG.PADDING);
    this.raw(subarray(bytes, HEADER_BYTES));
  }

  /**
   * @param {any[]} array
   * @param {number} index
   * @param {number} length as it was when the array was started
   * @param {number} level
   * @param {boolean} plain whether the array's prototype is Array.prototype
   */
  elements(array, index, length, level, plain) {
    for (; index < length; index++) {
      // A getter may have removed elements. The array can no longer be written as sparse, but V8 marks holes here, too. Reading an element
      // reveals that it exists if the prototypes have none, which spares the check.
      const isPresent = plain && !(index in ArrayPrototype);
      const value = isPresent || isOwn(array, index) ? array[index] : undefined;
      if (typeof value === 'object') arriving.part = value;
      if (value === undefined && !hasIndex(array, index, plain)) {
        this.byte(TAG.THE_HOLE);
      } else if (!this.value(value, level + 1)) {
        return this.putAside(KIND.ELEMENTS, array, [], index + 1, 0, 0, length);
      }
    }
    const isBare = !isSupported && plain && length >= MIN_COUNTED && (this.primitiveArrays ??= new PrimitiveArrays()).haveOnlyElements(array);
    const keys = isBare ? NO_KEYS : ownEnumerableKeys(array);
    let named = keys.length;
    // Indices come first. So the last of them, at its place, shows that there are no others.
    if (named !== length || named === 0 || keys[named - 1] !== (INDICES[named - 1] ?? `${named - 1}`)) while (named > 0 && indexOf(keys[named - 1]) < 0) named--;
    if (named < keys.length) return this.properties(array, keys, named, 0, TAG.END_DENSE_ARRAY, length, level);
    this.byte(TAG.END_DENSE_ARRAY);
    this.varint(0);
    this.varint(length);
    return true;
  }

  /**
   * @param {Map<unknown, unknown>} map copied first, since getters could change it
   * @param {number} level
   */
  map(map, level) {
    /** @type {unknown[]} */
    const entries = [];
    forEachInMap(map, (/** @type {unknown} */ value, /** @type {unknown} */ key) => { entries.push(key, value); });
    this.byte(TAG.BEGIN_MAP);
    return this.entries(entries, 0, TAG.END_MAP, level);
  }

  /**
   * @param {Set<unknown>} set
   * @param {number} level
   */
  set(set, level) {
    /** @type {unknown[]} */
    const entries = [];
    forEachInSet(set, (/** @type {unknown} */ value) => { entries.push(value); });
    this.byte(TAG.BEGIN_SET);
    return this.entries(entries, 0, TAG.END_SET, level);
  }

  /**
   * @param {unknown[]} entries
   * @param {number} index
   * @param {number} end
   * @param {number} level
   */
  entries(entries, index, end, level) {
    while (index < entries.length) {
      if (!this.value(entries[index++], level + 1)) return this.putAside(KIND.ENTRIES, entries, entries, index, 0, end, -1);
    }
    this.byte(end);
    this.varint(entries.length);
    return true;
  }

  /**
   * @param {any} error
   * @param {number} level
   */
  error(error, level) {
    // The message of a DOMException is a getter of its prototype on some hosts, and an own property on others.
    const isException = brandOf(error) === BRAND.DOM_EXCEPTION;
    const message = isException
      ? { value: /** @type {any} */ (domExceptionMessage)(error) }
      : getOwnPropertyDescriptor(error, 'message');
    const cause = getOwnPropertyDescriptor(error, 'cause');
    this.byte(TAG.ERROR);
    const named = error.name;
    const name = readableText(named);
    if (isOwn(ERROR_PROTOTYPES, name)) this.byte(/** @type {any} */ (ERROR_PROTOTYPES)[name]);
    const own = message !== undefined && isOwn(message, 'value') ? readableText(message.value) : undefined;
    const text = (this.hooks.stack === undefined ? undefined : messageWithoutSource(error)) ?? own;
    if (text !== undefined) {
      this.byte(ERROR_TAG.MESSAGE);
      this.string(text);
    }
    // Engines may make a text of name and message when the stack is read. Own parts are read once, in V8's order.
    const shown = message !== undefined && isOwn(message, 'value') ? message.value : error.message;
    const stack = isReadable(named) && isReadable(shown) ? readStack(error) : undefined;
    if (typeof stack === 'string') {
      this.byte(ERROR_TAG.STACK);
      this.string(this.hooks.stack === undefined ? stack : this.hooks.stack(stack, name, own ?? '', text ?? ''));
    }
    // Last, since it may refer to the error itself.
    if (cause !== undefined && isOwn(cause, 'value')) {
      this.byte(ERROR_TAG.CAUSE);
      if (!this.value(cause.value, level + 1)) return this.putAside(KIND.CAUSE, error, [], 0, 0, 0, -1);
    }
    return this.errorEnd();
  }

  errorEnd() {
    this.byte(ERROR_TAG.END);
    return true;
  }
}

module.exports = { Writer };
