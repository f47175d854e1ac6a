'use strict';
// A reader that can pause and continue. Nothing recurses deeper than RECURSION_LEVELS: at that depth, as in the writer, the containers in
// progress are put aside and continued later. A pause puts them aside in the same way.

const { MAX_COPIES } = require('../protocol.js');
const { isCopy } = require('./copies.js');
const { list, UNFINISHED } = require('./leaf-reader.js');
const { noteTree, noteWeight } = require('./notes.js');
const { PropertyReader } = require('./property-reader.js');
const { FIXED_TIME, TIME_PER_BYTE } = require('./reading-limits.js');
const { malformed, tooDeep, unreadable } = require('./refusal.js');
const { Work } = require('../work.js');
const { DEFAULT_MAX_DEPTH, RECURSION_LEVELS } = require('./tags.js');

/**
 * @typedef {object} Frame a container, a long BigInt, or the reader of a copy in the table, that was put aside
 * @property {number} kind one of `KIND`
 * @property {any} target
 * @property {boolean} waiting for a value; otherwise it is not started, or was interrupted between two values
 * @property {any} key that the value belongs to; the parts of an error that were read; the number of a copy
 * @property {number} index of the value, or the number of entries before it; at the end of an array, the number of its elements so far
 * @property {number} length of an array; the shape of an object; the parts of an error that were read before it was created
 * @property {any[]} pairs keys and values of an array, read after its elements
 */

const KIND = Object.freeze({ OBJECT: 0, ELEMENTS: 1, SPARSE: 2, DENSE_END: 3, MAP: 4, MAP_VALUE: 5, SET: 6, ERROR: 7, PAIRS: 8, BIGINT: 9, BIGINT_OBJECT: 10, SPARSE_END: 11, COPY: 12 });

/** Returned in place of a value that was put aside. */
const PUT_ASIDE = Object.freeze({});
/** @type {any[]} */
const NONE = [];

/** Bytes that are read before the first check of the clock. */
const STRETCH = 2048;

/** Bytes per step of work. The budget checks the clock after a number of steps, and after fewer if the steps take long. */
const BYTES_PER_STEP = 4;
/** A regular expression may take as long as this many bytes: see `costOf`. */
const REGEXP_BYTES = 20_000;

class PausableReader extends PropertyReader {
  /**
   * @param {Uint8Array} bytes
   * @param {unknown[]} table
   * @param {import('./leaf-reader.js').ReadHooks} hooks
   * @param {number} [weight]
   * @param {import('../work.js').WorkBudget} [work] the budget of the call; values of a few KB need none
   */
  constructor(bytes, table, hooks, weight, work) {
    super(bytes, table, hooks, weight);
    this.work = work;
    /** Bytes for which time has been allowed. */
    this.allowed = this.weight;
    this.maxDepth = hooks.maxDepth ?? DEFAULT_MAX_DEPTH;
    // As in the writer.
    this.outside = 0;
    this.room = Math.min(RECURSION_LEVELS, this.maxDepth);
    /** Frames that the current run put aside, innermost first. @type {Frame[] | undefined} */
    this.aside = undefined;
    /** Frames that were put aside earlier, innermost last. @type {Frame[] | undefined} */
    this.stack = undefined;
    /** The value, once all of it is read. @type {any} */
    this.result = PUT_ASIDE;
    /** The time and the weight at which to interrupt, and the position at which to check clock and weight. */
    this.until = Infinity;
    this.allowance = Infinity;
    this.mark = STRETCH;
    this.isInterrupted = false;
    /** The number of copies around this one. */
    this.around = 0;
  }

  /** Reads the whole value. Nothing may be called after this. */
  run() {
    this.go();
    const { result } = this;
    this.release();
    return result;
  }

  /** @override */
  release() {
    super.release();
    this.large = undefined;
    this.largeKeys = undefined;
    this.gaps = undefined;
    this.work = undefined;
    this.aside = undefined;
    this.stack = undefined;
    this.result = PUT_ASIDE;
  }

  /**
   * Continues reading until a given time.
   * @param {number} until as a value of `now()` in clock.js
   * @param {number} [allowance] bytes that the value may take until then
   * @returns {boolean} whether all of it is read
   */
  readUntil(until, allowance = Infinity) {
    this.until = until;
    this.allowance = allowance;
    this.isInterrupted = false;
    // Other code has run since.
    this.standard = undefined;
    this.inheritsElements = undefined;
    return this.go();
  }

  go() {
    if (this.position === 0) {
      this.header();
      this.result = this.value(0);
      if (this.result === PUT_ASIDE) this.stack = list();
    }
    if (this.stack !== undefined && !this.deep(this.stack)) return false;
    if (this.position !== this.end) throw malformed('bytes after the value');
    if (this.isTree) noteTree(this.result, this.end);
    noteWeight(this.result, this.weight);
    return true;
  }

  /**
   * Continues with the frames that were put aside.
   * @param {Frame[]} stack
   * @returns {boolean} false if interrupted
   */
  deep(stack) {
    for (;;) {
      const aside = (this.aside ??= list());
      for (let index = aside.length - 1; index >= 0; index--) stack[stack.length] = aside[index];
      aside.length = 0;
      if (stack.length === 0) return true;
      if (this.isInterrupted) return false;
      const frame = stack[stack.length - 1];
      stack.length--;
      this.outside = stack.length;
      this.room = Math.min(RECURSION_LEVELS, this.maxDepth - this.outside);
      this.result = this.resume(frame, this.result);
    }
  }

  /** Whether it is time to interrupt. Called at the mark. Throws if the budget is used up. */
  isLate() {
    this.checkWeight();
    const work = (this.work ??= new Work({ time: FIXED_TIME }));
    const bytes = this.position + this.weight + this.regexps * REGEXP_BYTES;
    work.extend((bytes - this.allowed) * TIME_PER_BYTE);
    this.allowed = bytes;
    const time = work.check();
    this.mark = this.position + BYTES_PER_STEP * work.stride;
    this.isInterrupted = this.weight >= this.allowance || time >= this.until;
    return this.isInterrupted;
  }

  /** @override */
  checkTime() {
    this.isLate();
  }

  /** @param {number} kind KIND.BIGINT or KIND.BIGINT_OBJECT */
  bigintOrAside(kind) {
    const value = this.bigint();
    return typeof value === 'bigint' ? this.bigintAs(kind, value) : this.putAside(kind, value, false, 0, 0, 0, NONE);
  }

  /**
   * @param {number} kind
   * @param {bigint} value
   */
  bigintAs(kind, value) {
    return kind === KIND.BIGINT ? value : this.register(Object(value));
  }

  /**
   * @param {import('./long-bigint.js').Long} long
   * @param {number} kind
   */
  longBigint(long, kind) {
    for (;;) {
      const value = long.step();
      if (value !== undefined) return this.bigintAs(kind, value);
      if (this.isLate()) return this.putAside(kind, long, false, 0, 0, 0, NONE);
    }
  }

  /** A handle, a function or a copy in the table. */
  hostObjectOrAside() {
    const id = this.count;
    this.register(UNFINISHED);
    const carrier = this.carrier();
    if (typeof carrier !== 'object' || carrier === null) throw unreadable('a copy of a primitive value inside another value');
    if (!isCopy(carrier)) return (this.objects[id] = this.hooks.resolve(carrier));
    if (this.around === MAX_COPIES) throw tooDeep(MAX_COPIES);
    const reader = this.readerOf(carrier[1], carrier[2]);
    reader.around = this.around + 1;
    reader.reserved = this.reserved;
    reader.cost = this.cost;
    return this.putAside(KIND.COPY, reader, false, id, 0, 0, NONE);
  }

  /**
   * Reads a copy within the budgets of this value.
   * @param {any} reader
   * @param {number} id
   */
  copy(reader, id) {
    const { allowed, weight } = reader;
    const isRead = reader.readUntil(this.until, this.allowance);
    // For the other part of its weight, no time has been allowed yet.
    this.allowed += Math.min(reader.allowed - allowed, reader.weight - weight);
    this.weight = reader.weight;
    this.reserved = reader.reserved;
    this.cost = reader.cost;
    this.work = reader.work;
    // It may have taken long: the clock is checked before the next part.
    this.mark = this.position;
    if (isRead) return (this.objects[id] = reader.result);
    this.isInterrupted = true;
    return this.putAside(KIND.COPY, reader, false, id, 0, 0, NONE);
  }

  /**
   * A reader for a copy in the table. Defined by the reader of containers.
   * @abstract
   * @param {Uint8Array} _bytes
   * @param {unknown[]} _table
   * @returns {any}
   */
  readerOf(_bytes, _table) {
    return this;
  }

  /**
   * Reads one value. Defined by the reader of containers.
   * @abstract
   * @param {number} _level of recursion
   * @returns {any} the value, or PUT_ASIDE: the caller must then be put aside, too
   */
  value(_level) {
    return PUT_ASIDE;
  }

  /**
   * Continues with a frame. Defined by the reader of containers.
   * @abstract
   * @param {Frame} _frame
   * @param {any} _value for which the frame waits
   * @returns {unknown}
   */
  resume(_frame, _value) {
    return PUT_ASIDE;
  }

  /**
   * @param {number} kind
   * @param {any} target
   * @param {boolean} waiting
   * @param {any} key
   * @param {number} index
   * @param {number} length
   * @param {any[]} pairs
   */
  putAside(kind, target, waiting, key, index, length, pairs) {
    const aside = (this.aside ??= list());
    aside[aside.length] = { kind, target, waiting, key, index, length, pairs };
    return PUT_ASIDE;
  }
}

module.exports = { KIND, NONE, PausableReader, PUT_ASIDE };
