'use strict';
// Reads objects that have no parts: dates, regular expressions, boxed primitives, buffers, views, and the carriers in the table. Objects
// are numbered in the same order as in V8. A reference to an object that does not exist yet is refused.

const { types } = require('node:util');
const { TAG: CARRIER } = require('../../core/protocol.js');
const { alone, uncurryThis, isArray } = require('../../core/primordials.js');
const { MAX_WEIGHT, WEIGHT } = require('./reading-limits.js');
const { malformed, unreadable, tooHeavy } = require('./refusal.js');
const { costOf, MAX_TOTAL_COST } = require('./regexp-cost.js');
const { Source } = require('./source.js');
const { REGEXP_FLAG, TAG, VERSION, VIEW_FLAG, VIEW_TAG } = require('./tags.js');
const { arrayOfBytes, bufferOf, byteLengthOf, isResizable, KINDS, sharedLengthOf } = require('./views.js');

/**
 * @typedef {object} ReadHooks
 * @property {(carrier: any) => unknown} resolve the value of a carrier that is not a buffer
 * @property {number} [maxDepth]
 * @property {number} [maxWeight] bytes that the value may take
 */

const { isArrayBuffer, isSharedArrayBuffer } = types;
const setBytes = uncurryThis(Uint8Array.prototype.set);
const subarray = uncurryThis(Uint8Array.prototype.subarray);
const FLAGS = /** @type {[string, number][]} */ (Object.entries(REGEXP_FLAG));
const ALL_FLAGS = FLAGS.reduce((bits, [, bit]) => bits | bit, 0);
/** Bytes of address space that the resizable buffers of one value may reserve. */
const MAX_RESERVED = 2 ** 34;

/**
 * The same limit for all resizable buffers that this thread has from guests and has not collected, and a limit on their number. Each takes two
 * memory mappings of the process, of which Linux allows 65,530.
 */
const MAX_RESERVED_BY_ALL = 2 ** 40;
const MAX_RESIZABLE = 4096;
const resizable = { count: 0, reserved: 0 };
const collected = new FinalizationRegistry(/** @param {number} reserved */ (reserved) => {
  resizable.count -= 1;
  resizable.reserved -= reserved;
});
const followBuffer = uncurryThis(FinalizationRegistry.prototype.register);

/**
 * Counts a resizable buffer until it is collected.
 * @param {ArrayBuffer} buffer
 * @param {number} reserved
 */
function follow(buffer, reserved) {
  resizable.count += 1;
  resizable.reserved += reserved;
  followBuffer(collected, buffer, reserved);
}

/**
 * An array for storing values. It has no prototype, so no store can reach a setter.
 * @returns {any[]}
 */
const list = () => Object.setPrototypeOf([], null);

/**
 * Elements of the longest array that is created with its length, which takes up to a few milliseconds: engines copy an array that grows again and
 * again. JavaScriptCore gives a longer one a map of its elements.
 */
const MAX_PREPARED = process.versions.bun === undefined ? 2 ** 20 : 2 ** 15;

/** Bytes of the longest typed array that is read at once with its buffer: what two bytes of length allow. */
const MAX_SMALL_ARRAY = 16_383;

/** The initial array holds this many objects. Most values have no more. */
const FEW = 8;

/** @param {unknown[]} few */
function longer(few) {
  const objects = list();
  for (let index = 0; index < FEW; index++) objects[index] = few[index];
  return objects;
}

/** In place of the buffer of a small typed array, until a reference to it is read. */
class BufferOf {
  /** @param {ArrayBufferView} view */
  constructor(view) {
    this.view = view;
  }
}

/** Placeholder for an object that has a number, but does not exist yet. */
const UNFINISHED = Object.freeze({});

// What a reader has that is done.
/** @type {unknown[]} */
const NO_ROWS = [];
/** @type {ReadHooks} */
const NO_HOOKS = alone({ resolve: () => undefined });
/** @type {unknown[]} */
const NO_OBJECTS = [];

class LeafReader extends Source {
  /**
   * @param {Uint8Array} bytes
   * @param {unknown[]} table
   * @param {ReadHooks} hooks
   * @param {number} [weight] bytes to add to the value's own
   */
  constructor(bytes, table, hooks, weight = 0) {
    super(bytes);
    this.table = table;
    this.hooks = hooks;
    /** Objects by number. The array is full from the start, so assignments ignore its prototypes. @type {unknown[]} */
    this.objects = [undefined, undefined, undefined, undefined, undefined, undefined, undefined, undefined];
    this.count = 0;
    /** Whether the bytes contain no reference, and refer to nothing outside. */
    this.isTree = true;
    this.reserved = 0;
    /** The cost of the regular expressions so far, and their number. */
    this.cost = 0;
    this.regexps = 0;
    /** The position at which the clock is checked next. */
    this.mark = 0;
    /** Bytes that the value takes so far. */
    this.weight = weight;
    this.maxWeight = hooks.maxWeight ?? MAX_WEIGHT;
    /** Elements of the large arrays that were created with their length. */
    this.prepared = 0;
    /** Indices of the buffers taken from the table. @type {Set<number> | undefined} */
    this.taken = undefined;
  }

  /** @override */
  release() {
    super.release();
    this.table = NO_ROWS;
    this.hooks = NO_HOOKS;
    this.objects = NO_OBJECTS;
    this.taken = undefined;
  }

  /**
   * @template T
   * @param {T} object
   * @returns {T} the same object, which now has a number
   */
  register(object) {
    if (this.count === FEW) this.objects = longer(this.objects);
    this.objects[this.count++] = object;
    this.weight += WEIGHT.OBJECT;
    return object;
  }

  /** @param {number} [more] bytes that will be taken */
  checkWeight(more = 0) {
    if ((this.weight += more) > this.maxWeight) throw tooHeavy(this.maxWeight);
  }

  /**
   * Whether a large array may be created with its length. Each byte allows one element, in all such arrays together.
   * @param {number} length up to the number of bytes that are left
   */
  mayPrepare(length) {
    if (length > MAX_PREPARED || this.prepared + length > this.end || this.weight + length * WEIGHT.ELEMENT > this.maxWeight) return false;
    this.prepared += length;
    return true;
  }

  /** Throws if the value may not take more time. */
  checkTime() {}

  /** A string with its tag. */
  string() {
    const tag = this.peek();
    this.position++;
    return this.text(tag);
  }

  /**
   * A string after its tag.
   * @param {number} tag
   * @returns {string}
   */
  text(tag) {
    const { position } = this;
    this.weight += WEIGHT.STRING;
    switch (tag) {
      case TAG.ONE_BYTE_STRING: {
        const text = this.oneByteString();
        this.weight += this.position - position;
        return text;
      }
      case TAG.TWO_BYTE_STRING: {
        const text = this.twoByteString();
        this.weight += this.position - position;
        return text;
      }
      case TAG.UTF8_STRING: {
        const text = this.utf8String();
        // One wide character makes the whole string two-byte.
        this.weight += (this.position - position) * 2;
        return text;
      }
      default: throw malformed('no string where one must be');
    }
  }

  /** @override */
  bigint() {
    const { position } = this;
    const value = super.bigint();
    this.weight += WEIGHT.BIGINT + this.position - position;
    return value;
  }

  reference() {
    this.isTree = false;
    const id = this.varint();
    const object = id < this.count ? this.objects[id] : UNFINISHED;
    if (object === UNFINISHED) throw malformed('a reference to no object');
    return object instanceof BufferOf ? (this.objects[id] = bufferOf(object.view)) : object;
  }

  date() {
    this.weight += WEIGHT.DATE;
    return this.register(new Date(this.double()));
  }

  regexp() {
    const id = this.count;
    this.register(UNFINISHED);
    this.weight += WEIGHT.REGEXP;
    this.regexps += 1;
    const source = this.string();
    const bits = this.varint();
    if (bits & ~ALL_FLAGS) throw malformed('unknown flags of a regular expression');
    let flags = '';
    for (const [flag, bit] of FLAGS) if (bits & bit) flags += flag;
    const cost = costOf(source, bits);
    if (cost === Infinity) throw unreadable('a regular expression that takes too long to make');
    if ((this.cost += cost) > MAX_TOTAL_COST) throw unreadable('regular expressions that take too long to make');
    if (cost > 0) {
      this.checkTime();
      // And before the next part.
      this.mark = this.position;
    }
    try {
      return (this.objects[id] = new RegExp(source, flags));
    } catch {
      throw unreadable('an invalid regular expression');
    }
  }

  /** @returns {unknown} the carrier that the next varint selects */
  carrier() {
    this.isTree = false;
    const index = this.varint();
    if (index >= this.table.length) throw malformed('an index beyond the table');
    return this.table[index];
  }

  sharedBuffer() {
    const buffer = this.hooks.resolve(this.carrier());
    if (!isSharedArrayBuffer(buffer)) throw malformed('no shared buffer at this index of the table');
    this.weight += WEIGHT.BUFFER;
    return this.register(buffer);
  }

  /** A buffer from the table, as it is. */
  tableBuffer() {
    this.isTree = false;
    const index = this.varint();
    const carrier = index < this.table.length ? this.table[index] : undefined;
    const [tag, buffer] = /** @type {unknown[]} */ (isArray(carrier) ? carrier : []);
    if (tag !== CARRIER.BUFFER || !isArrayBuffer(buffer)) throw malformed('no buffer at this index of the table');
    this.taken ??= new Set();
    if (this.taken.has(index)) throw malformed('a buffer that is taken twice');
    this.taken.add(index);
    this.weight += WEIGHT.BUFFER;
    return this.register(buffer);
  }

  /** A buffer whose bytes follow. An immutable buffer becomes an ordinary one, since few hosts support it. @param {number} tag */
  inlineBuffer(tag) {
    const length = this.size();
    const canResize = tag === TAG.RESIZABLE_ARRAY_BUFFER;
    const maxByteLength = canResize ? this.size() : length;
    this.require(length);
    if (maxByteLength < length) throw malformed('a buffer longer than it may become');
    if (canResize) {
      const isTooMuch = (this.reserved += maxByteLength) > MAX_RESERVED || resizable.reserved + maxByteLength > MAX_RESERVED_BY_ALL;
      if (isTooMuch) throw unreadable('buffers that may become too long');
      if (resizable.count >= MAX_RESIZABLE) throw unreadable('more resizable buffers than a host has room for');
    }
    this.checkWeight(length + (canResize ? WEIGHT.RESIZABLE_BUFFER : WEIGHT.BUFFER));
    const buffer = this.newBuffer(length, canResize ? { maxByteLength } : undefined);
    if (canResize) follow(buffer, maxByteLength);
    setBytes(new Uint8Array(buffer), subarray(this.bytes, this.position, this.position + length));
    this.position += length;
    return this.register(buffer);
  }

  /**
   * Reads a buffer that is as long as the typed array that follows, after its tag.
   * @returns {any} the array, or undefined if something else follows; nothing has been read then
   */
  smallArray() {
    const { bytes, position } = this;
    const low = bytes[position];
    const isShort = low < 128;
    const length = isShort ? low : (low & 127) | (bytes[position + 1] << 7);
    const start = position + (isShort ? 1 : 2);
    let next = start + length;
    // With a byte beyond the end, which is undefined, one of these is false.
    if (!(length <= MAX_SMALL_ARRAY && this.version >= VERSION.VIEW_FLAGS_SINCE)) return undefined;
    const tag = bytes[next + 1];
    if (bytes[next] !== TAG.ARRAY_BUFFER_VIEW || bytes[next + 2] !== 0 || bytes[next + 3] !== low) return undefined;
    next += 4;
    if ((!isShort && bytes[next++] !== bytes[position + 1]) || bytes[next++] !== 0 || next > this.end) return undefined;
    // Before anything is allocated.
    if (this.weight + length > this.maxWeight) return undefined;
    const array = arrayOfBytes(tag, bytes, start, length);
    if (array === undefined) return undefined;
    this.checkWeight(length + WEIGHT.BUFFER + WEIGHT.VIEW);
    this.position = next;
    this.register(new BufferOf(array));
    return this.register(array);
  }

  /**
   * @param {number} length
   * @param {{ maxByteLength: number } | undefined} options
   * @returns {ArrayBuffer}
   */
  newBuffer(length, options) {
    try {
      return new /** @type {any} */ (ArrayBuffer)(length, options);
    } catch {
      throw unreadable('no memory for a buffer');
    }
  }

  /**
   * The view on the buffer just read, if one follows; otherwise the buffer.
   * @param {unknown} buffer
   */
  viewOn(buffer) {
    const next = this.bytes[this.position];
    if (next !== TAG.ARRAY_BUFFER_VIEW && next !== TAG.PADDING) return buffer;
    // Padding is skipped only after a buffer: V8 refuses it where it is not allowed.
    const shared = isSharedArrayBuffer(buffer);
    if ((!shared && !isArrayBuffer(buffer)) || this.peek() !== TAG.ARRAY_BUFFER_VIEW) return buffer;
    this.position++;
    this.weight += WEIGHT.VIEW;
    return this.register(this.view(buffer, shared));
  }

  /**
   * @param {any} buffer
   * @param {boolean} shared
   */
  view(buffer, shared) {
    const tag = this.byte();
    const offset = this.size();
    const length = this.size();
    const flags = this.version >= VERSION.VIEW_FLAGS_SINCE ? this.varint() : 0;
    const kind = KINDS.get(tag);
    if (kind === undefined) {
      throw tag === VIEW_TAG.Float16Array ? unreadable('this host has no Float16Array') : malformed('an unknown kind of view');
    }
    const { View, size } = kind;
    const whole = shared ? sharedLengthOf(buffer) : byteLengthOf(buffer);
    if (offset % size !== 0 || length % size !== 0) throw malformed('a view between two elements');
    if (offset > whole || length > whole - offset) throw malformed('a view beyond its buffer');
    const canResize = !shared && isResizable(buffer);
    const tracking = (flags & VIEW_FLAG.LENGTH_TRACKING) !== 0;
    const canTrack = canResize || (shared && buffer.growable === true);
    const expected = (canResize ? VIEW_FLAG.RESIZABLE_BUFFER : 0) | (tracking ? VIEW_FLAG.LENGTH_TRACKING : 0);
    if (flags !== expected || (tracking && !canTrack)) {
      throw malformed('flags of a view that do not fit its buffer');
    }
    try {
      return tracking ? new View(buffer, offset) : new View(buffer, offset, length / size);
    } catch {
      // V8 in Node 20 requires whole elements up to the end of the buffer, even for a view that tracks its length.
      throw unreadable('a view that this host cannot make');
    }
  }
}

module.exports = { LeafReader, list, UNFINISHED };
