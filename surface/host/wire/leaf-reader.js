'use strict';
// Reads objects that have no parts of their own: dates, regular expressions, boxed primitives, buffers, views, and what the
// table holds. Objects are numbered in the order in which V8 numbers them; a reference to a number whose object does not
// exist yet is refused.

const { types } = require('node:util');
const { TAG: CARRIER } = require('../../protocol.js');
const { uncurryThis, isArray } = require('../../primordials.js');
const { malformed } = require('./refusal.js');
const { Source } = require('./source.js');
const { REGEXP_FLAG, TAG, VERSION, VIEW_FLAG, VIEW_TAG } = require('./tags.js');
const { byteLengthOf, isResizable, KINDS, sharedLengthOf } = require('./views.js');

/**
 * @typedef {object} ReadHooks
 * @property {(carrier: any) => unknown} resolve the value of a carrier that is not a buffer
 * @property {number} [maxDepth]
 */

const { isArrayBuffer, isSharedArrayBuffer } = types;
const setBytes = uncurryThis(Uint8Array.prototype.set);
const subarray = uncurryThis(Uint8Array.prototype.subarray);
const FLAGS = /** @type {[string, number][]} */ (Object.entries(REGEXP_FLAG));
const ALL_FLAGS = FLAGS.reduce((bits, [, bit]) => bits | bit, 0);
/** Address space that the resizable buffers of one value may set aside. */
const MOST_RESERVED = 2 ** 34;

/**
 * An array to store things in. Without a prototype none of them can end in a setter.
 * @returns {any[]}
 */
const list = () => Object.setPrototypeOf([], null);

/** Stands for an object that has a number and does not exist yet. */
const UNFINISHED = Object.freeze({});

class LeafReader extends Source {
  /**
   * @param {Uint8Array} bytes
   * @param {unknown[]} table
   * @param {ReadHooks} hooks
   */
  constructor(bytes, table, hooks) {
    super(bytes);
    this.table = table;
    this.hooks = hooks;
    /** By number. @type {unknown[]} */
    this.objects = list();
    this.count = 0;
    this.reserved = 0;
    /** Indices of the buffers taken from the table. @type {Set<number> | undefined} */
    this.taken = undefined;
  }

  /**
   * @template T
   * @param {T} object
   * @returns {T} the same, numbered
   */
  register(object) {
    this.objects[this.count++] = object;
    return object;
  }

  reference() {
    const id = this.varint();
    const object = id < this.count ? this.objects[id] : UNFINISHED;
    if (object === UNFINISHED) throw malformed('a reference to no object');
    return object;
  }

  date() {
    return this.register(new Date(this.double()));
  }

  regexp() {
    const id = this.count;
    this.register(UNFINISHED);
    const source = this.string();
    const bits = this.varint();
    if (bits & ~ALL_FLAGS) throw malformed('unknown flags of a regular expression');
    let flags = '';
    for (const [flag, bit] of FLAGS) if (bits & bit) flags += flag;
    try {
      return (this.objects[id] = new RegExp(source, flags));
    } catch {
      throw malformed('an invalid regular expression');
    }
  }

  /** @returns {unknown} what the next varint names */
  carrier() {
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
    return this.register(buffer);
  }

  /** A buffer from the table, as it is. */
  tableBuffer() {
    const index = this.varint();
    const carrier = index < this.table.length ? this.table[index] : undefined;
    const [tag, buffer] = /** @type {unknown[]} */ (isArray(carrier) ? carrier : []);
    if (tag !== CARRIER.BUFFER || !isArrayBuffer(buffer)) throw malformed('no buffer at this index of the table');
    this.taken ??= new Set();
    if (this.taken.has(index)) throw malformed('a buffer that is taken twice');
    this.taken.add(index);
    return this.register(buffer);
  }

  /** A buffer whose bytes follow. An immutable one becomes an ordinary one: few hosts have such a thing. @param {number} tag */
  inlineBuffer(tag) {
    const length = this.size();
    const resizable = tag === TAG.RESIZABLE_ARRAY_BUFFER;
    const maxByteLength = resizable ? this.size() : length;
    this.require(length);
    if (maxByteLength < length) throw malformed('a buffer longer than it may become');
    if (resizable && (this.reserved += maxByteLength) > MOST_RESERVED) throw malformed('buffers that may become too long');
    const buffer = this.newBuffer(length, resizable ? { maxByteLength } : undefined);
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
      throw malformed('no memory for a buffer');
    }
  }

  /**
   * The view, if one follows, on the buffer just read; else the buffer.
   * @param {unknown} buffer
   */
  viewOn(buffer) {
    if (this.position === this.end || this.peek() !== TAG.ARRAY_BUFFER_VIEW) return buffer;
    const shared = isSharedArrayBuffer(buffer);
    if (!shared && !isArrayBuffer(buffer)) return buffer;
    this.position++;
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
      throw malformed(tag === VIEW_TAG.Float16Array ? 'this host has no Float16Array' : 'an unknown kind of view');
    }
    const { View, size } = kind;
    const whole = shared ? sharedLengthOf(buffer) : byteLengthOf(buffer);
    if (offset % size !== 0 || length % size !== 0) throw malformed('a view between two elements');
    if (offset > whole || length > whole - offset) throw malformed('a view beyond its buffer');
    const resizable = !shared && isResizable(buffer);
    const tracking = (flags & VIEW_FLAG.LENGTH_TRACKING) !== 0;
    const canTrack = resizable || (shared && buffer.growable === true);
    const expected = (resizable ? VIEW_FLAG.RESIZABLE_BUFFER : 0) | (tracking ? VIEW_FLAG.LENGTH_TRACKING : 0);
    if (flags !== expected || (tracking && !canTrack)) {
      throw malformed('flags of a view that do not fit its buffer');
    }
    try {
      return tracking ? new View(buffer, offset) : new View(buffer, offset, length / size);
    } catch {
      // V8 of Node 20 wants whole elements up to the end of the buffer even where a view follows its length.
      throw malformed('a view that this host cannot make');
    }
  }
}

module.exports = { LeafReader, list };
