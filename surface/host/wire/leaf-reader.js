'use strict';
// Reads objects that have no parts of their own: dates, regular expressions, boxed primitives, buffers, views, and what the
// table holds. Objects are numbered in the order in which V8 numbers them; a reference to a number whose object does not
// exist yet is refused.

const { types } = require('node:util');
const { TAG: CARRIER } = require('../../protocol.js');
const { uncurryThis, isArray } = require('../../primordials.js');
const { malformed, unreadable, tooHeavy } = require('./refusal.js');
const { costOf, MAX_TOTAL_COST } = require('./regexp-cost.js');
const { Source } = require('./source.js');
const { REGEXP_FLAG, TAG, VERSION, VIEW_FLAG, VIEW_TAG } = require('./tags.js');
const { byteLengthOf, isResizable, KINDS, sharedLengthOf } = require('./views.js');

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
/** Address space that the resizable buffers of one value may set aside. */
const MAX_RESERVED = 2 ** 34;

/**
 * The same of all that this thread has from guests and has not collected, and how many those may be: each takes two parts of the
 * process's address space, of which Linux allows 65,530.
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
 * A buffer that can be resized is there until it is collected.
 * @param {ArrayBuffer} buffer
 * @param {number} reserved
 */
function follow(buffer, reserved) {
  resizable.count += 1;
  resizable.reserved += reserved;
  followBuffer(collected, buffer, reserved);
}

/** Bytes that a value may take here, as far as that can be told: a host would not survive any number. */
const MAX_WEIGHT = 2 ** 29;
/**
 * Bytes that values take, as `bench/heap-cost.mjs` measures them on Node, Bun and Deno: the largest counts. An object counts `OBJECT` and
 * what is named after its kind besides; its place in another one counts `ELEMENT`, `PROPERTY`, `MAP` or `SET`.
 */
const WEIGHT = Object.freeze({
  OBJECT: 72, VIEW: 160, REGEXP: 512, ERROR: 420, DATE: 40, BUFFER: 288, RESIZABLE_BUFFER: 2336,
  /** Beside its characters or digits. */
  STRING: 56, BIGINT: 32,
  /** A number that is no small integer. */
  NUMBER: 16,
  ELEMENT: 12,
  /** What an array takes that is a table, and each of its elements, or a name of any array. */
  SPARSE_TABLE: 300, SPARSE: 96,
  /** What maps and sets take that are empty, and for each entry: those of small tables more. */
  MAP_TABLE: 224, SMALL_MAP: 130, MAP: 72, SET_TABLE: 208, SMALL_SET: 120, SET: 52,
  PROPERTY: 16, INDEX: 24,
  /** A property of an object with many. */
  TABLE_PROPERTY: 90,
  /** What an object takes that has any indices. */
  INDICES: 300,
  /** A name that no other object has, beside its characters, and a sequence of names that no other object has. */
  NAME: 48, SHAPE: 240,
});

/**
 * An array to store things in. Without a prototype none of them can end in a setter.
 * @returns {any[]}
 */
const list = () => Object.setPrototypeOf([], null);

/** So many objects find a place in an array that is made with it; most values have no more. */
const FEW = 8;

/** @param {unknown[]} few */
function longer(few) {
  const objects = list();
  for (let index = 0; index < FEW; index++) objects[index] = few[index];
  return objects;
}

/** Stands for an object that has a number and does not exist yet. */
const UNFINISHED = Object.freeze({});

class LeafReader extends Source {
  /**
   * @param {Uint8Array} bytes
   * @param {unknown[]} table
   * @param {ReadHooks} hooks
   * @param {number} [weight] bytes that count with the value
   */
  constructor(bytes, table, hooks, weight = 0) {
    super(bytes);
    this.table = table;
    this.hooks = hooks;
    /** By number. What is there can be assigned to without a look at prototypes. @type {unknown[]} */
    this.objects = [undefined, undefined, undefined, undefined, undefined, undefined, undefined, undefined];
    this.count = 0;
    /** Whether the bytes name nothing twice, and nothing that is not among them. */
    this.isTree = true;
    this.reserved = 0;
    /** Of the regular expressions so far, and how many those are. */
    this.cost = 0;
    this.regexps = 0;
    /** Where the clock is looked at next. */
    this.mark = 0;
    /** Bytes that the value takes so far. */
    this.weight = weight;
    this.maxWeight = hooks.maxWeight ?? MAX_WEIGHT;
    /** Indices of the buffers taken from the table. @type {Set<number> | undefined} */
    this.taken = undefined;
  }

  /**
   * @template T
   * @param {T} object
   * @returns {T} the same, numbered
   */
  register(object) {
    if (this.count === FEW) this.objects = longer(this.objects);
    this.objects[this.count++] = object;
    this.weight += WEIGHT.OBJECT;
    return object;
  }

  /** @param {number} [more] bytes that are to be taken */
  checkWeight(more = 0) {
    if ((this.weight += more) > this.maxWeight) throw tooHeavy(this.maxWeight);
  }

  /** A string with its tag. */
  string() {
    const tag = this.peek();
    this.position++;
    return this.text(tag);
  }

  /**
   * A string behind its tag.
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
        // One wide character makes all of them wide.
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
    return object;
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
    // The clock is looked at before the next part.
    if (cost > 0) this.mark = this.position;
    try {
      return (this.objects[id] = new RegExp(source, flags));
    } catch {
      throw unreadable('an invalid regular expression');
    }
  }

  /** @returns {unknown} what the next varint names */
  carrier() {
    this.isTree = false;
    const index = this.varint();
    if (index >= this.table.length) throw malformed('an index beyond the table');
    return this.table[index];
  }

  hostObject() {
    const id = this.count;
    this.register(UNFINISHED);
    return (this.objects[id] = this.hooks.resolve(this.carrier()));
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

  /** A buffer whose bytes follow. An immutable one becomes an ordinary one: few hosts have such a thing. @param {number} tag */
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
   * The view, if one follows, on the buffer just read; else the buffer.
   * @param {unknown} buffer
   */
  viewOn(buffer) {
    const next = this.bytes[this.position];
    if (next !== TAG.ARRAY_BUFFER_VIEW && next !== TAG.PADDING) return buffer;
    // Behind anything else padding is not skipped: where it may not be, V8 refuses it.
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
      // V8 of Node 20 wants whole elements up to the end of the buffer even where a view follows its length.
      throw unreadable('a view that this host cannot make');
    }
  }
}

module.exports = { LeafReader, list, MAX_WEIGHT, WEIGHT };
