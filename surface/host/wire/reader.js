'use strict';
// Reads a value from untrusted bytes. The result is a value or an Error, in time and memory that are bounded by the number of bytes.
//
// A large array is created with its announced length only if the bytes can fill it and all other such arrays of the value. Otherwise, it grows as its
// elements are read. The elements of a sparse array after its first gap are added at its end, when their number is known.

const { uncurryThis, define } = require('../../core/primordials.js');
const { isPrototype, newError, seenBit, SEEN_MESSAGE, SEEN_STACK, setCause, setStack } = require('./errors.js');
const { list } = require('./leaf-reader.js');
const { MAX_WITHOUT_NOTE, note } = require('./notes.js');
const { KIND, NONE, PausableReader, PUT_ASIDE } = require('./pausable-reader.js');
const { isConstant } = require('./property-reader.js');
const { WEIGHT } = require('./reading-limits.js');
const { tooDeep, malformed } = require('./refusal.js');
const { checkCount, EMPTY, FEW_KEYS, hasShape, isNew, isTable, keep, MANY_KEYS, MAX_SHAPED, noteTable } = require('./shapes.js');
const { isSupported: hasStringRuns } = require('./string-runs.js');
const { ERROR_TAG, TAG } = require('./tags.js');

/** @typedef {import('./leaf-reader.js').ReadHooks} ReadHooks */
/** @typedef {import('./pausable-reader.js').Frame} Frame */

const addToMap = uncurryThis(Map.prototype.set);
const addToSet = uncurryThis(Set.prototype.add);
const { keys: ownEnumerableKeys } = Object;
const MAX_ARRAY = 4_294_967_295;
/** Pairs of an array that are defined before the first check of the clock. */
const MAX_PAIRS = 512;
/** Up to this many entries, the tables of maps and sets take more memory per entry. */
const SMALL_TABLE = 64;
/** An array of at most this many elements is read without looking for runs of numbers, dates or constants. */
const MAX_WITHOUT_RUN = 8;
/** Elements after a string that few strings follow, until the next one is looked at. */
const BETWEEN_RUNS = 64;
/** Every array of at most this many elements is created with its length, and larger ones if `mayPrepare` allows it. */
const MAX_UNCHECKED = 256;
/** An array gets room for this many holes per element, plus this many more. With more holes, it becomes a dictionary. */
const HOLES = 16;
/** A sparse array with more elements than this before its first gap does not become a dictionary: converting it would take too long. */
const MAX_CONVERTED = 1024;
/** Bytes of the shortest element of a sparse array: a tag and an index, and a value. */
const SPARSE_ELEMENT_BYTES = 3;

class Reader extends PausableReader {
  /**
   * @override
   * @param {Frame} frame
   * @param {any} value for which the frame waits
   * @returns {unknown}
   */
  resume({ kind, target, waiting, key, index, length, pairs }, value) {
    switch (kind) {
      case KIND.OBJECT:
        if (waiting && !hasShape(length)) this.addToTable(target, key, value, index);
        else if (waiting) this.property(target, key, value);
        return this.properties(target, index + (waiting ? 1 : 0), length, 0);
      case KIND.ELEMENTS:
        if (waiting) this.element(target, index, value);
        return this.elements(target, index + (waiting ? 1 : 0), length, 0);
      case KIND.SPARSE:
        if (waiting) this.element(target, index, value);
        return this.sparse(target, index + (waiting ? 1 : 0), length, 0);
      case KIND.SPARSE_END:
      case KIND.DENSE_END:
        return this.arrayEnd(target, kind, index, length, waiting ? withPair(pairs, key, value) : pairs, 0);
      case KIND.PAIRS: return this.pairs(target, pairs, index, length);
      case KIND.BIGINT:
      case KIND.BIGINT_OBJECT: return this.longBigint(target, kind);
      case KIND.COPY: return this.copy(target, key);
      case KIND.MAP:
        return waiting ? this.mapValue(target, value, index, 0) : this.map(target, index, 0);
      case KIND.MAP_VALUE:
        addToMap(target, key, value);
        return this.map(target, index + 1, 0);
      case KIND.SET:
        if (waiting) addToSet(target, value);
        return this.set(target, index + (waiting ? 1 : 0), 0);
      default:
        if (waiting) setCause(target, value);
        return this.errorParts(target, key | length, 0);
    }
  }

  /**
   * @override
   * @param {number} level of recursion
   * @returns {any} the value, or PUT_ASIDE: the caller must then be put aside, too
   */
  value(level) {
    const tag = this.peek();
    this.position++;
    if (tag === TAG.ONE_BYTE_STRING) {
      const { position } = this;
      const text = this.oneByteString();
      this.weight += WEIGHT.STRING + this.position - position;
      return text;
    }
    if (tag === TAG.INT32) return this.int32();
    if (tag === TAG.BEGIN_OBJECT) return this.begin(KIND.OBJECT, {}, 0, level);
    switch (tag) {
      case TAG.DOUBLE:
        this.weight += WEIGHT.NUMBER;
        return this.double();
      case TAG.TRUE: return true;
      case TAG.FALSE: return false;
      case TAG.NULL: return null;
      case TAG.UNDEFINED: return undefined;
      case TAG.BEGIN_DENSE_ARRAY: {
        const length = this.varint();
        this.require(length);
        this.checkWeight(length * WEIGHT.ELEMENT);
        // Engines over-allocate arrays whose elements are added one by one.
        // oxlint-disable-next-line no-new-array -- it is the length
        return this.begin(KIND.ELEMENTS, length <= MAX_UNCHECKED || this.mayPrepare(length) ? new Array(length) : [], length, level);
      }
      case TAG.BEGIN_SPARSE_ARRAY: {
        const length = this.varint();
        const isPrepared = length <= HOLES || (length * SPARSE_ELEMENT_BYTES <= this.left() && this.mayPrepare(length));
        // oxlint-disable-next-line no-new-array -- it is the length
        return this.begin(KIND.SPARSE, isPrepared ? new Array(length) : [], length, level);
      }
      case TAG.OBJECT_REFERENCE: return this.viewOn(this.reference());
      case TAG.TWO_BYTE_STRING:
      case TAG.UTF8_STRING: return this.text(tag);
      case TAG.BIGINT: return this.bigintOrAside(KIND.BIGINT);
      case TAG.UINT32:
        this.weight += WEIGHT.NUMBER;
        return this.varint();
      case TAG.DATE: return this.date();
      case TAG.BEGIN_MAP:
        this.weight += WEIGHT.MAP_TABLE;
        return this.begin(KIND.MAP, new Map(), 0, level);
      case TAG.BEGIN_SET:
        this.weight += WEIGHT.SET_TABLE;
        return this.begin(KIND.SET, new Set(), 0, level);
      case TAG.ERROR: return this.error(level);
      case TAG.REGEXP: return this.regexp();
      case TAG.ARRAY_BUFFER_TRANSFER: return this.viewOn(this.tableBuffer());
      case TAG.SHARED_ARRAY_BUFFER: return this.viewOn(this.sharedBuffer());
      case TAG.ARRAY_BUFFER: return this.smallArray() ?? this.viewOn(this.inlineBuffer(tag));
      case TAG.IMMUTABLE_ARRAY_BUFFER:
      case TAG.RESIZABLE_ARRAY_BUFFER: return this.viewOn(this.inlineBuffer(tag));
      case TAG.HOST_OBJECT: return this.hostObjectOrAside();
      case TAG.TRUE_OBJECT: return this.register(Object(true));
      case TAG.FALSE_OBJECT: return this.register(Object(false));
      case TAG.NUMBER_OBJECT: return this.register(Object(this.double()));
      case TAG.BIGINT_OBJECT: return this.bigintOrAside(KIND.BIGINT_OBJECT);
      case TAG.STRING_OBJECT: return this.register(Object(this.string()));
      case TAG.VERIFY_OBJECT_COUNT:
        this.varint();
        if (this.peek() === TAG.VERIFY_OBJECT_COUNT) throw malformed('an object count twice');
        return this.value(level);
      default: throw malformed('an unknown tag');
    }
  }

  /**
   * @override
   * @param {Uint8Array} bytes
   * @param {unknown[]} table
   */
  readerOf(bytes, table) {
    return new Reader(bytes, table, this.hooks, this.weight, this.work);
  }

  /**
   * @param {number} kind
   * @param {any} target
   * @param {number} length
   * @param {number} level
   * @returns {unknown}
   */
  begin(kind, target, length, level) {
    this.register(target);
    if (level >= this.room) {
      if (this.outside + level >= this.maxDepth) throw tooDeep(this.maxDepth);
      return this.putAside(kind, target, false, 0, 0, length, NONE);
    }
    switch (kind) {
      case KIND.OBJECT: return this.properties(target, 0, EMPTY, level);
      case KIND.ELEMENTS: return this.elements(target, 0, length, level);
      case KIND.SPARSE: return this.sparse(target, 0, length, level);
      case KIND.MAP: return this.map(target, 0, level);
      case KIND.SET: return this.set(target, 0, level);
      default: return this.errorParts(target, length, level);
    }
  }

  /**
   * @param {any} object
   * @param {number} count of the properties read
   * @param {number} shape
   * @param {number} level
   * @returns {unknown}
   */
  properties(object, count, shape, level) {
    /** Its shape when it had MANY_KEYS properties. */
    let early = EMPTY;
    const start = count === 0 ? this.position : 0;
    const { count: objects, weight } = this;
    for (;;) {
      if (this.position >= this.mark && this.isLate()) return this.putAside(KIND.OBJECT, object, false, 0, count, shape, NONE);
      const tag = this.peek();
      if (tag === TAG.END_OBJECT) break;
      const before = shape;
      const key = this.keyOf(tag, shape, count);
      if (count === MANY_KEYS) {
        early = before;
        const whole = isTable(before) ? this.dictionary(start, objects, weight) : undefined;
        if (whole !== undefined) return whole;
        if (!this.isKnown || isTable(before)) this.becomeTable(object, count, before);
      } else if (count === MAX_SHAPED) {
        if (early !== EMPTY) noteTable(early);
        if (hasShape(before)) this.becomeTable(object, count, before);
      }
      ({ shape } = this);
      const value = this.value(level + 1);
      if (value === PUT_ASIDE) return this.putAside(KIND.OBJECT, object, true, key, count, shape, NONE);
      if (!hasShape(shape)) this.addToTable(object, key, value, count);
      else if (count >= FEW_KEYS && isNew(shape)) define(object, key, value, true, true);
      else this.property(object, key, value);
      count++;
    }
    this.position++;
    if (this.varint() !== count) throw malformed('a wrong number of properties');
    if (hasShape(shape)) {
      checkCount(object, count, shape);
      if (count > FEW_KEYS && isNew(shape)) keep(shape, ownEnumerableKeys(object));
    }
    return object;
  }

  /**
   * @param {any[]} array
   * @param {number} index
   * @param {number} length
   * @param {number} level
   * @returns {unknown}
   */
  elements(array, index, length, level) {
    /** Where strings may begin to follow one another. */
    let next = hasStringRuns ? index : length;
    for (; index < length; index++) {
      if (this.position >= this.mark && this.isLate()) return this.putAside(KIND.ELEMENTS, array, false, 0, index, length, NONE);
      const tag = this.peek();
      if (length > MAX_WITHOUT_RUN && (tag === TAG.INT32 || tag === TAG.DOUBLE || tag === TAG.DATE || isConstant(tag))) {
        const end = this.numbersAndConstants(array, index, length);
        if (end > index && (index = end - 1) >= 0) continue;
      }
      if (index >= next && (tag === TAG.ONE_BYTE_STRING || tag === TAG.TWO_BYTE_STRING)) {
        const end = this.strings(array, index, length);
        if (end > index && (index = end - 1) >= 0) continue;
        next = index + BETWEEN_RUNS;
      }
      if (tag === TAG.THE_HOLE) {
        this.position++;
        continue;
      }
      const value = this.value(level + 1);
      if (value === PUT_ASIDE) return this.putAside(KIND.ELEMENTS, array, true, 0, index, length, NONE);
      this.element(array, index, value);
    }
    if (array.length !== length) array.length = length;
    return this.arrayEnd(array, KIND.DENSE_END, length, length, NONE, level);
  }

  /**
   * Reads the elements of a sparse array up to its first gap. V8 also writes arrays without holes as sparse, if they may have had some.
   * @param {any[]} array
   * @param {number} index
   * @param {number} length
   * @param {number} level
   * @returns {unknown}
   */
  sparse(array, index, length, level) {
    /** Where primitives may begin to follow one another. */
    let next = index;
    for (; index < length; index++) {
      if (this.position >= this.mark && this.isLate()) return this.putAside(KIND.SPARSE, array, false, 0, index, length, NONE);
      if (index === MAX_CONVERTED && length > HOLES * index && length * SPARSE_ELEMENT_BYTES > this.left()) break;
      if (index >= next) {
        const end = this.sparseElements(array, index, index < MAX_CONVERTED ? Math.min(length, MAX_CONVERTED) : length);
        next = end > index ? end : index + BETWEEN_RUNS;
        if (end > index && (index = end - 1) >= 0) continue;
      }
      if (!this.skipIndex(index)) break;
      this.weight += WEIGHT.ELEMENT;
      const value = this.value(level + 1);
      if (value === PUT_ASIDE) return this.putAside(KIND.SPARSE, array, true, 0, index, length, NONE);
      this.element(array, index, value);
    }
    return this.arrayEnd(array, KIND.SPARSE_END, index, length, NONE, level);
  }

  /**
   * Reads the keys and values after the elements of an array, and its end.
   * @param {any[]} array
   * @param {number} kind
   * @param {number} read number of its elements so far
   * @param {number} length
   * @param {any[]} pairs already read
   * @param {number} level
   * @returns {unknown}
   */
  arrayEnd(array, kind, read, length, pairs, level) {
    const isSparse = kind === KIND.SPARSE_END;
    const end = isSparse ? TAG.END_SPARSE_ARRAY : TAG.END_DENSE_ARRAY;
    for (;;) {
      if (this.position >= this.mark && this.isLate()) return this.putAside(kind, array, false, 0, read, length, pairs);
      const tag = this.peek();
      if (tag === end) break;
      if (pairs === NONE) pairs = list();
      const key = this.key(tag);
      this.weight += WEIGHT.SPARSE;
      const value = this.value(level + 1);
      if (value === PUT_ASIDE) return this.putAside(kind, array, true, key, read, length, pairs);
      withPair(pairs, key, value);
    }
    this.position++;
    const count = pairs.length / 2 + (isSparse ? read : 0);
    if (this.varint() !== count || this.varint() !== length) throw malformed('a wrong number of elements');
    if (isSparse) {
      // Its length may exceed the number of its bytes.
      if (read !== length) this.isTree = false;
      // Setting a length allocates all of it, unless the array has been a dictionary before.
      if (length > HOLES * (count + 1) && read <= MAX_CONVERTED) {
        this.weight += WEIGHT.SPARSE_TABLE + read * WEIGHT.SPARSE;
        array.length = MAX_ARRAY;
      } else this.checkWeight((length - read) * WEIGHT.ELEMENT + (length > HOLES ? WEIGHT.ELEMENT * HOLES : 0));
      if (array.length !== length) array.length = length;
    }
    if (length + count > MAX_WITHOUT_NOTE) note(array, pairs, read);
    return pairs === NONE ? array : this.pairs(array, pairs, 0, length);
  }

  /**
   * @param {any[]} array
   * @param {any[]} pairs keys and values to define; afterwards, only the keys remain
   * @param {number} index of the next pair
   * @param {number} length
   * @returns {unknown}
   */
  pairs(array, pairs, index, length) {
    for (let look = index + 2 * (this.work?.stride ?? MAX_PAIRS); index < pairs.length; index += 2) {
      if (index >= look) {
        if (this.isLate()) return this.putAside(KIND.PAIRS, array, false, 0, index, length, pairs);
        look = index + 2 * /** @type {import('../work.js').WorkBudget} */ (this.work).stride;
      }
      const key = pairs[index];
      if (this.hasOwn(array, key)) throw malformed('an element twice');
      if (typeof key === 'number') this.element(array, key, pairs[index + 1]);
      else define(array, key, pairs[index + 1], true, true);
      pairs[index / 2] = key;
    }
    pairs.length /= 2;
    if (array.length !== length) throw malformed('an element beyond the end');
    return array;
  }

  /**
   * @param {Map<unknown, unknown>} map
   * @param {number} count of the entries read
   * @param {number} level
   * @returns {unknown}
   */
  map(map, count, level) {
    while (this.peek() !== TAG.END_MAP) {
      if (this.position >= this.mark && this.isLate()) return this.putAside(KIND.MAP, map, false, 0, count, 0, NONE);
      this.weight += count < SMALL_TABLE ? WEIGHT.SMALL_MAP : WEIGHT.MAP;
      const key = this.value(level + 1);
      if (key === PUT_ASIDE) return this.putAside(KIND.MAP, map, true, 0, count, 0, NONE);
      const value = this.value(level + 1);
      if (value === PUT_ASIDE) return this.putAside(KIND.MAP_VALUE, map, true, key, count, 0, NONE);
      addToMap(map, key, value);
      count++;
    }
    this.position++;
    if (this.varint() !== count * 2) throw malformed('a wrong number of entries');
    return map;
  }

  /**
   * Continues a map whose key was put aside.
   * @param {Map<unknown, unknown>} map
   * @param {unknown} key
   * @param {number} count
   * @param {number} level
   * @returns {unknown}
   */
  mapValue(map, key, count, level) {
    const value = this.value(level + 1);
    if (value === PUT_ASIDE) return this.putAside(KIND.MAP_VALUE, map, true, key, count, 0, NONE);
    addToMap(map, key, value);
    return this.map(map, count + 1, level);
  }

  /**
   * @param {Set<unknown>} set
   * @param {number} count
   * @param {number} level
   * @returns {unknown}
   */
  set(set, count, level) {
    while (this.peek() !== TAG.END_SET) {
      if (this.position >= this.mark && this.isLate()) return this.putAside(KIND.SET, set, false, 0, count, 0, NONE);
      this.weight += count < SMALL_TABLE ? WEIGHT.SMALL_SET : WEIGHT.SET;
      const value = this.value(level + 1);
      if (value === PUT_ASIDE) return this.putAside(KIND.SET, set, true, 0, count, 0, NONE);
      addToSet(set, value);
      count++;
    }
    this.position++;
    if (this.varint() !== count) throw malformed('a wrong number of entries');
    return set;
  }

  /** @param {number} level */
  error(level) {
    this.require(1);
    const prototype = this.bytes[this.position];
    if (isPrototype(prototype)) this.position++;
    this.weight += WEIGHT.ERROR;
    // The engine defines message and cause faster than `define`. V8 writes the message first, and the cause last.
    let seen = 0;
    /** @type {string | undefined} */
    let message;
    if (this.peek() === ERROR_TAG.MESSAGE) {
      this.position++;
      message = this.string();
      seen = SEEN_MESSAGE;
    }
    /** @type {string | undefined} */
    let stack;
    if (this.bytes[this.position] === ERROR_TAG.STACK) {
      this.position++;
      stack = this.string();
      seen |= SEEN_STACK;
    }
    const error = newError(prototype, message, this.bytes[this.position] === ERROR_TAG.CAUSE);
    if (stack !== undefined) setStack(error, stack, message);
    return this.begin(KIND.ERROR, error, seen, level);
  }

  /**
   * @param {Error} error
   * @param {number} seen parts already read; older versions have another order
   * @param {number} level
   * @returns {unknown}
   */
  errorParts(error, seen, level) {
    for (;;) {
      const tag = this.byte();
      if (tag === ERROR_TAG.END) {
        // The stack of a new error reveals the place of `withoutFrames`.
        if (!(seen & SEEN_STACK)) setStack(error, undefined);
        return error;
      }
      const bit = seenBit(tag);
      if (bit === 0 || seen & bit) throw malformed('an unknown part of an error');
      seen |= bit;
      if (tag === ERROR_TAG.MESSAGE) {
        const message = this.string();
        define(error, 'message', message, true, false);
        if (seen & SEEN_STACK) setStack(error, error.stack, message);
      } else if (tag === ERROR_TAG.STACK) {
        setStack(error, this.string(), seen & SEEN_MESSAGE ? error.message : '');
      } else {
        const cause = this.value(level + 1);
        if (cause === PUT_ASIDE) return this.putAside(KIND.ERROR, error, true, seen, 0, 0, NONE);
        setCause(error, cause);
      }
    }
  }
}

/**
 * @param {any[]} pairs
 * @param {unknown} key
 * @param {unknown} value
 */
function withPair(pairs, key, value) {
  pairs[pairs.length] = key;
  pairs[pairs.length] = value;
  return pairs;
}

module.exports = { Reader };
