'use strict';
// Writes objects that have no parts to visit: dates, regular expressions, boxed primitives, buffers, views, and objects that become a
// carrier in the table.
//
// Large buffers are sent in the table, so that a guest gets their memory without another copy. Small ones are among the bytes, because a row of
// the table takes longer than a few copies, and so are resizable ones, whose kind only the bytes can express. A view is sent with its whole
// buffer, as in isolated-vm, if that reveals no memory of other code: if it covers the whole buffer, if the buffer itself was written before,
// is moved or is shared, or if the buffer is too small to be a host's pool. Any other view gets its own buffer with only the view's bytes,
// which no other view shares.

const { Buffer } = require('node:buffer');
const { TAG: CARRIER } = require('../../core/protocol.js');
const { alone, uncurryThis, getOwnPropertyDescriptor, isArray } = require('../../core/primordials.js');
const { MAX_INLINE } = require('../protocol.js');
const { BRAND, isSharedArrayBuffer } = require('./brand.js');
const { detached, uncloneable } = require('./refusal.js');
const { Sink } = require('./sink.js');
const { REGEXP_FLAG, TAG, VIEW_FLAG } = require('./tags.js');
const { bufferOf, byteLengthOf, isDetached, isLengthTracking, isResizable, maxByteLengthOf, partsOf } = require('./views.js');

/**
 * @typedef {object} WriteHooks
 * @property {(object: object) => unknown} carrierOf called for every function, and for every object that is neither an array, a view
 *   nor plain (prototype `Object.prototype` or null); its result goes into the table, unless it is undefined
 * @property {ArrayBuffer[]} [transfer] buffers to move
 * @property {(buffer: SharedArrayBuffer) => unknown} shared the carrier of a shared buffer
 * @property {number} [maxBytes] limit for the bytes and buffers together
 * @property {(stack: string, name: string, message: string, shown: string) => string} [stack] converts the stacks of errors
 * @property {number} [maxDepth]
 * @property {boolean} [lends] whether the bytes go to the native side alone, which clears the first one when it has copied them
 */

const dateValue = uncurryThis(Date.prototype.getTime);
const booleanValue = uncurryThis(Boolean.prototype.valueOf);
const numberValue = uncurryThis(Number.prototype.valueOf);
const stringValue = uncurryThis(String.prototype.valueOf);
const bigintValue = uncurryThis(BigInt.prototype.valueOf);

/** @param {string} name */
const regexpGetter = (name) => uncurryThis(/** @type {any} */ (getOwnPropertyDescriptor(RegExp.prototype, name)).get);
const sourceOf = regexpGetter('source');
const flagGetters = [
  { bit: REGEXP_FLAG.g, isSet: regexpGetter('global') },
  { bit: REGEXP_FLAG.i, isSet: regexpGetter('ignoreCase') },
  { bit: REGEXP_FLAG.m, isSet: regexpGetter('multiline') },
  { bit: REGEXP_FLAG.y, isSet: regexpGetter('sticky') },
  { bit: REGEXP_FLAG.u, isSet: regexpGetter('unicode') },
  { bit: REGEXP_FLAG.s, isSet: regexpGetter('dotAll') },
  { bit: REGEXP_FLAG.d, isSet: regexpGetter('hasIndices') },
  { bit: REGEXP_FLAG.v, isSet: regexpGetter('unicodeSets') },
];

/** Up to this many objects, a linear search is faster than a map. Most values never need the map. */
const FEW = 8;
/**
 * Objects in the first of two sets. A set of more becomes a large object in V8's heap, and making one takes as long as adding thousands of
 * elements. When the second has become twice as large, having two takes longer.
 */
const MAX_FIRST = process.versions.bun === undefined ? 4096 : Infinity;
const MAX_SECOND = 2 * MAX_FIRST;
/** The number of objects in the last value: the next one often has as many. */
let lastCount = 0;

// What a writer has that is done.
/** @type {WriteHooks} */
const NO_HOOKS = alone({ carrierOf: () => undefined, shared: () => undefined });
/** @type {unknown[]} */
const NO_OBJECTS = [];
/** @type {unknown[]} */
const NO_ROWS = [];

class LeafWriter extends Sink {
  /**
   * @param {WriteHooks} hooks
   * @param {import('./sink.js').Scratch} place for a small value, or null
   */
  constructor(hooks, place) {
    super(hooks.maxBytes ?? Infinity, hooks.lends === true, place);
    this.hooks = hooks;
    /**
     * The first objects written, by number; V8 numbers them in this order. The array is full from the start, so elements of its prototypes
     * are never visible.
     * @type {unknown[]}
     */
    this.first = [undefined, undefined, undefined, undefined, undefined, undefined, undefined, undefined];
    /**
     * All objects once there are more, in the order of their numbers: enough to notice one that occurs again, which most values do not have.
     * @type {Set<unknown> | undefined}
     */
    this.seen = undefined;
    /** The objects before those in `seen`, if there are two sets, and their number. @type {Set<unknown> | undefined} */
    this.older = undefined;
    this.olderCount = 0;
    /** The number of objects at which to have two sets, or one again. */
    this.fullAt = lastCount > MAX_FIRST + MAX_SECOND ? Infinity : MAX_FIRST;
    /** Whether the objects of the first set come after those of the second. */
    this.isOneAgain = false;
    /** Numbers of the objects, once one of them has occurred again. @type {Map<unknown, number> | undefined} */
    this.ids = undefined;
    /** The first of them, if there are two maps, as with the sets. @type {Map<unknown, number> | undefined} */
    this.olderIds = undefined;
    this.nextId = 0;
    /** @type {unknown[]} */
    this.table = [];
    this.moved = hooks.transfer?.length ? new Set(hooks.transfer) : undefined;
    /** Lengths of resizable buffers at the time of writing. @type {Map<ArrayBuffer, number> | undefined} */
    this.lengths = undefined;
    /** Buffers of fixed length that are among the bytes. @type {ArrayBuffer[] | undefined} */
    this.inline = undefined;
  }

  /** Also refers to no part of the value any more. @override */
  release() {
    lastCount = this.nextId;
    super.release();
    this.hooks = NO_HOOKS;
    this.first = NO_OBJECTS;
    this.table = NO_ROWS;
    this.seen = undefined;
    this.older = undefined;
    this.ids = undefined;
    this.olderIds = undefined;
    this.moved = undefined;
    this.lengths = undefined;
    this.inline = undefined;
  }

  /**
   * Writes a reference to an object that was written before. Returns false if it was not.
   * @param {object} object
   */
  reference(object) {
    const id = this.idOf(object);
    return id >= 0 && this.referTo(id);
  }

  /**
   * @param {object} object
   * @returns {number} its number if it was written before, else -1
   */
  idOf(object) {
    if (this.ids !== undefined) return this.ids.get(object) ?? this.olderIds?.get(object) ?? -1;
    if (this.seen === undefined) return this.idOfFirst(object);
    return this.seen.has(object) || this.older?.has(object) ? this.idOfSeen(object) : -1;
  }

  /**
   * Writes a reference to an object that was written before, or gives the object its number. Returns false in the latter case.
   * @param {object} object
   */
  referenceOrRegister(object) {
    const { seen } = this;
    if (seen === undefined || this.ids !== undefined) {
      if (this.reference(object)) return true;
      this.register(object);
      return false;
    }
    if (this.older === undefined || !this.older.has(object)) {
      seen.add(object);
      if (seen.size > this.nextId - this.olderCount) {
        this.nextId++;
        if (this.nextId === this.fullAt) this.divide(seen);
        return false;
      }
    }
    return this.referTo(this.idOfSeen(object));
  }

  /**
   * Begins the second set, or ends having two.
   * @param {Set<unknown>} seen
   */
  divide(seen) {
    const { older } = this;
    if (older === undefined) {
      this.older = seen;
      this.olderCount = MAX_FIRST;
      this.seen = new Set();
      this.fullAt = MAX_FIRST + MAX_SECOND;
    } else {
      older.forEach((each) => seen.add(each));
      this.older = undefined;
      this.olderCount = 0;
      this.isOneAgain = true;
      this.fullAt = Infinity;
    }
  }

  /** @param {number} id */
  referTo(id) {
    this.byte(TAG.OBJECT_REFERENCE);
    this.varint(id);
    return true;
  }

  /**
   * @param {object} object
   * @returns {number} its number if it is one of the first objects, else -1
   */
  idOfFirst(object) {
    let id = Math.min(this.nextId, FEW) - 1;
    while (id >= 0 && this.first[id] !== object) id -= 1;
    return id;
  }

  /**
   * @param {object} object
   * @returns {number}
   */
  idOfSeen(object) {
    this.ids = new Map();
    let place = 0;
    const add = (/** @type {unknown} */ each) => this.addId(each, this.idAt(place++));
    this.older?.forEach(add);
    this.seen?.forEach(add);
    return this.idOf(object);
  }

  /**
   * @param {unknown} object
   * @param {number} id
   */
  addId(object, id) {
    const ids = /** @type {Map<unknown, number>} */ (this.ids);
    ids.set(object, id);
    if (ids.size === MAX_FIRST && this.olderIds === undefined && lastCount <= MAX_FIRST + MAX_SECOND) {
      this.olderIds = ids;
      this.ids = new Map();
    }
  }

  /** @param {number} place among the objects in the order of the sets */
  idAt(place) {
    if (!this.isOneAgain || place >= MAX_FIRST + MAX_SECOND) return place;
    return place < MAX_SECOND ? place + MAX_FIRST : place - MAX_SECOND;
  }

  few() {
    /** @type {Set<unknown>} */
    const seen = new Set();
    for (let id = 0; id < FEW; id++) seen.add(this.first[id]);
    return seen;
  }

  /** @param {object} object that has not been written before */
  register(object) {
    const id = this.nextId++;
    if (id < FEW) this.first[id] = object;
    else if (this.ids !== undefined) this.addId(object, id);
    else {
      const seen = (this.seen ??= this.few()).add(object);
      if (this.nextId === this.fullAt) this.divide(seen);
    }
  }

  /** @returns {unknown[]} the objects that it has written, or begun to write, the last ones first */
  objects() {
    /** @type {unknown[]} */
    const all = [];
    const add = (/** @type {unknown} */ object) => { all.push(object); };
    if (this.ids !== undefined) {
      this.olderIds?.forEach((_, object) => add(object));
      this.ids.forEach((_, object) => add(object));
    } else if (this.seen !== undefined) {
      this.older?.forEach(add);
      this.seen.forEach(add);
    } else {
      this.first.forEach(add);
    }
    return all.toReversed();
  }

  /** @param {unknown} carrier @returns {number} its index */
  intoTable(carrier) {
    return this.table.push(carrier) - 1;
  }

  /**
   * Writes an object that becomes a carrier, and that has its number. Returns false if it does not.
   * @param {object} object
   */
  handle(object) {
    const carrier = this.hooks.carrierOf(object);
    if (carrier === undefined) return false;
    this.byte(TAG.HOST_OBJECT);
    this.varint(this.intoTable(carrier));
    return true;
  }

  /**
   * Writes an object without parts.
   * @param {number} brand
   * @param {any} object
   */
  leaf(brand, object) {
    switch (brand) {
      case BRAND.DATE:
        this.byte(TAG.DATE);
        return this.double(dateValue(object));
      case BRAND.REGEXP: return this.regexp(object);
      case BRAND.ARRAY_BUFFER: return this.buffer(object);
      case BRAND.SHARED_ARRAY_BUFFER:
        this.byte(TAG.SHARED_ARRAY_BUFFER);
        return this.varint(this.intoTable(this.hooks.shared(object)));
      case BRAND.BOOLEAN: return this.byte(booleanValue(object) ? TAG.TRUE_OBJECT : TAG.FALSE_OBJECT);
      case BRAND.NUMBER:
        this.byte(TAG.NUMBER_OBJECT);
        return this.double(numberValue(object));
      case BRAND.STRING:
        this.byte(TAG.STRING_OBJECT);
        return this.string(stringValue(object));
      default:
        this.byte(TAG.BIGINT_OBJECT);
        return this.bigint(bigintValue(object));
    }
  }

  /** @param {RegExp} object */
  regexp(object) {
    this.byte(TAG.REGEXP);
    this.string(sourceOf(object));
    let flags = 0;
    for (const { bit, isSet } of flagGetters) if (isSet(object)) flags |= bit;
    this.varint(flags);
  }

  /** @param {ArrayBuffer} buffer */
  buffer(buffer) {
    if (this.moved?.has(buffer)) {
      this.require(byteLengthOf(buffer));
      this.tableBytes += byteLengthOf(buffer);
      this.byte(TAG.ARRAY_BUFFER_TRANSFER);
      this.varint(this.intoTable([CARRIER.MOVE, buffer]));
    } else if (isDetached(buffer)) {
      throw detached();
    } else {
      const length = byteLengthOf(buffer);
      const resizable = isResizable(buffer);
      if (resizable) (this.lengths ??= new Map()).set(buffer, length);
      this.copy(buffer, 0, length, resizable ? maxByteLengthOf(buffer) : -1);
    }
  }

  /**
   * Writes a range as an ArrayBuffer.
   * @param {ArrayBuffer} buffer
   * @param {number} offset
   * @param {number} length
   * @param {number} maxLength of the copy, or -1 for one of fixed length
   */
  copy(buffer, offset, length, maxLength) {
    this.require(length);
    if (maxLength < 0 && (length > MAX_INLINE || this.nextId === ONLY)) {
      this.tableBytes += length;
      this.byte(TAG.ARRAY_BUFFER_TRANSFER);
      this.varint(this.intoTable([CARRIER.BUFFER, buffer, offset, length]));
      return;
    }
    if (maxLength < 0) {
      if (length > 0) (this.inline ??= []).push(buffer);
      this.byte(TAG.ARRAY_BUFFER);
      this.varint(length);
    } else {
      this.byte(TAG.RESIZABLE_ARRAY_BUFFER);
      this.varint(length);
      this.varint(maxLength);
    }
    this.raw(new Uint8Array(buffer, offset, length));
  }

  /** Throws if a getter detached or shortened a buffer after it was written. */
  checkBuffers() {
    if (this.inline !== undefined) for (const buffer of this.inline) if (isDetached(buffer)) throw detached();
    for (const carrier of this.table) {
      const [tag, buffer, offset, length] = /** @type {any[]} */ (isArray(carrier) ? carrier : []);
      if (tag === CARRIER.BUFFER && offset + length > byteLengthOf(buffer)) throw detached();
    }
  }

  /** Writes a view after its buffer. @param {ArrayBufferView} view */
  view(view) {
    const parts = partsOf(view);
    const anyBuffer = parts === undefined ? bufferOf(view) : parts.buffer;
    const shared = isSharedArrayBuffer(anyBuffer);
    const buffer = /** @type {ArrayBuffer} */ (anyBuffer);
    const isMoved = this.moved?.has(buffer) === true;
    if (!shared && !isMoved && isDetached(buffer)) throw detached();
    if (parts === undefined) throw uncloneable(view);
    let { offset } = parts;
    const { tag, length } = parts;
    const resizable = !shared && isResizable(buffer);
    const tracking = resizable && isLengthTracking(view, parts);
    let flags = tracking ? VIEW_FLAG.LENGTH_TRACKING | VIEW_FLAG.RESIZABLE_BUFFER : resizable ? VIEW_FLAG.RESIZABLE_BUFFER : 0;
    const isWhole = shared || isMoved || length === byteLengthOf(buffer) || isPrivate(view, buffer);
    if (isWhole ? this.referenceOrRegister(buffer) : this.reference(buffer)) {
      // The view's bytes have been written, unless a getter has enlarged the buffer since.
      const written = this.lengths?.get(buffer);
      if (written !== undefined && offset + length > written) throw uncloneable(view);
    } else if (!isWhole) {
      // A buffer of its own, which has a number, too.
      this.register({});
      this.copy(buffer, offset, length, tracking ? maxByteLengthOf(buffer) - offset : -1);
      if (!tracking) flags = 0;
      offset = 0;
    } else if (shared || isMoved || resizable) {
      this.leaf(shared ? BRAND.SHARED_ARRAY_BUFFER : BRAND.ARRAY_BUFFER, buffer);
    } else {
      this.copy(buffer, 0, byteLengthOf(buffer), -1);
    }
    this.register(view);
    this.byte(TAG.ARRAY_BUFFER_VIEW);
    this.byte(tag);
    this.varint(offset);
    this.varint(length);
    this.varint(flags);
  }
}

/** The number of objects if a buffer, or a view and its buffer, is the whole value. Such a copy can be transferred. */
const ONLY = 1;

/** Bytes. Hosts allocate Buffers and stream chunks from pools of 8 KB and more. */
const MIN_POOL = 8_192;

/**
 * Whether no other code has data in the view's buffer.
 * @param {ArrayBufferView} view
 * @param {ArrayBuffer} buffer
 */
const isPrivate = (view, buffer) => byteLengthOf(buffer) < MIN_POOL && !isResizable(buffer) && !Buffer.isBuffer(view);

module.exports = { LeafWriter };
