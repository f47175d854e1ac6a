'use strict';
// Visits a value that a guest sent, part by part: everything that the reader of the wire format delivers, and nothing else. All code that
// examines guests' values (sizes, quotas, gates, logs) uses this visitor, so that all of it agrees on what a value is.
//
// The visitor keeps its own stack, makes no list of the keys of a large container (see wire/notes.js), skips the holes of a sparse
// array, and counts each step in a work budget.

const { cutOff, isArray, uncurryThis, getPrototypeOf } = require('../../core/primordials.js');
const { kindOf } = require('../../core/handle.js');
const { BRAND, brandOf, isProxy, isView, ObjectPrototype } = require('../wire/brand.js');
const { noteOf } = require('../wire/notes.js');

/** What `Visitor.next()` has reached. */
const EVENT = Object.freeze({
  END: 0,
  /**
   * A value without parts. For a boxed primitive, the value is the primitive; for dates, regular expressions, buffers, views, functions and
   * handles, the object itself.
   */
  LEAF: 1,
  /** A container, before its parts. */
  ENTER: 2,
  /** The same container, after its parts. */
  LEAVE: 3,
  /** A container that is not entered: it contains itself, or was entered before and the visitor enters each container once. */
  AGAIN: 4,
});

/** What a value is to its parent. */
const ROLE = Object.freeze({
  ROOT: 0,
  /** An element of an array; the key is its index, a number. */
  ELEMENT: 1,
  /** A property of an object, a named key of an array, or a field of an error; the key is a string. */
  PROPERTY: 2,
  /** A key of a map. */
  MAP_KEY: 3,
  /** A value of a map; the key is the map's, of any type. */
  MAP_VALUE: 4,
  /** A member of a set. */
  MEMBER: 5,
});

const FORM = Object.freeze({ LEAF: 0, OBJECT: 1, ARRAY: 2, MAP: 3, SET: 4, ERROR: 5 });

const { hasOwn, keys: ownEnumerableKeys } = Object;
const entriesOf = uncurryThis(Map.prototype.entries);
const nextEntry = uncurryThis(/** @type {any} */ (getPrototypeOf(new Map().entries())).next);
const membersOf = uncurryThis(Set.prototype.values);
const nextMember = uncurryThis(/** @type {any} */ (getPrototypeOf(new Set().values())).next);
const unboxed = {
  [BRAND.BOOLEAN]: uncurryThis(Boolean.prototype.valueOf),
  [BRAND.NUMBER]: uncurryThis(Number.prototype.valueOf),
  [BRAND.BIGINT]: uncurryThis(BigInt.prototype.valueOf),
  [BRAND.STRING]: uncurryThis(String.prototype.valueOf),
};

/** Fields that the reader sets on errors, whether or not the class has them, too. */
const ERROR_FIELDS = Object.freeze(['name', 'message', 'stack', 'cause']);
const MAX_INDEX = 4_294_967_294;
/** @type {readonly string[]} */
const NO_KEYS = Object.freeze([]);

/**
 * The array index that a key represents.
 * @param {string | number} key
 * @returns {number} -1 for a named key
 */
function indexOf(key) {
  const number = Number(key);
  return Number.isInteger(number) && number >= 0 && number <= MAX_INDEX && String(number) === String(key) ? number : -1;
}

/**
 * @param {any} object
 * @returns {number} one of FORM, or -1 for a boxed primitive
 */
function formOf(object) {
  if (isArray(object)) {
    return FORM.ARRAY;
  }
  const prototype = isProxy(object) ? undefined : getPrototypeOf(object);
  if (prototype === ObjectPrototype) {
    return FORM.OBJECT;
  }
  if (prototype === undefined || isView(object) || kindOf(object) >= 0) {
    return FORM.LEAF;
  }
  switch (brandOf(object)) {
    case BRAND.ORDINARY: return FORM.OBJECT;
    case BRAND.MAP: return FORM.MAP;
    case BRAND.SET: return FORM.SET;
    case BRAND.ERROR:
    case BRAND.DOM_EXCEPTION: return FORM.ERROR;
    case BRAND.BOOLEAN:
    case BRAND.NUMBER:
    case BRAND.BIGINT:
    case BRAND.STRING: return -1;
    default: return FORM.LEAF;
  }
}

/**
 * The value of an object that is a boxed primitive.
 * @param {object} object
 */
const primitiveOf = (object) => /** @type {any} */ (unboxed)[brandOf(object)](object);

/** A container whose parts are being visited. */
class Frame {
  /**
   * @param {any} object
   * @param {number} form
   * @param {Frame | undefined} outer
   */
  constructor(object, form, outer) {
    this.object = object;
    this.form = form;
    this.outer = outer;
    /** Index of the next element, or of the next field of an error. */
    this.index = 0;
    /** Number of elements that are read by index. */
    this.length = 0;
    /** Keys that follow those elements, and the position of the next key. @type {ArrayLike<string | number>} */
    this.keys = NO_KEYS;
    this.position = 0;
    /** The iterator of a map or set. @type {any} */
    this.parts = undefined;
    /** The entry of a map whose value is next. @type {[unknown, unknown] | undefined} */
    this.entry = undefined;
    this.isOpen = false;
  }

  /** Determines the parts. Called only when the first part is requested, since the container may be skipped. */
  open() {
    this.isOpen = true;
    switch (this.form) {
      case FORM.ARRAY: this.openArray(); break;
      case FORM.MAP: this.parts = entriesOf(this.object); break;
      case FORM.SET: this.parts = membersOf(this.object); break;
      default: this.keys = noteOf(this.object)?.keys ?? ownEnumerableKeys(this.object);
    }
  }

  openArray() {
    const { length } = this.object;
    const noted = noteOf(this.object);
    if (noted !== undefined) {
      this.length = noted.elements;
      this.keys = noted.keys;
      return;
    }
    const keys = ownEnumerableKeys(this.object);
    if (keys.length === length && (length === 0 || keys[length - 1] === String(length - 1))) {
      this.length = length;
    } else {
      this.keys = keys;
    }
  }
}

cutOff(Frame);

class Visitor {
  /** The value that the last event is about. @type {any} */ value = undefined;
  /** What the value is to its parent: one of ROLE. @type {number} */ role = ROLE.ROOT;
  /** See ROLE; undefined for the other roles. @type {any} */ key = undefined;
  /** Whether the value is a primitive that was in an object. */ isBoxed = false;
  /** The container that the value is a part of. @type {any} */ parent = undefined;
  /** @type {Frame | undefined} */ #frame = undefined;
  #isBegun = false;
  #root;
  #work;
  #isOnce;
  /** Containers not to enter: with `isOnce`, those entered before; otherwise, those that contain the current one. @type {Set<object>} */
  #closed = new Set();

  /**
   * @param {unknown} root
   * @param {{ spend(steps?: number): void }} work draws one step for each event
   * @param {boolean} [isOnce] whether a container that occurs several times is entered the first time only; otherwise it is entered each time
   */
  constructor(root, work, isOnce = false) {
    this.#root = root;
    this.#work = work;
    this.#isOnce = isOnce;
  }

  /**
   * Moves to the next event. After LEAVE, only `value` identifies its subject.
   * @returns {number} one of EVENT
   */
  next() {
    this.#work.spend();
    const frame = this.#frame;
    if (frame === undefined) {
      if (this.#isBegun) {
        return EVENT.END;
      }
      this.#isBegun = true;
      return this.#come(this.#root, ROLE.ROOT, undefined);
    }
    this.parent = frame.object;
    if (!frame.isOpen) {
      frame.open();
    }
    if (frame.parts !== undefined) {
      return frame.form === FORM.MAP ? this.#nextOfMap(frame) : this.#nextOfSet(frame);
    }
    return frame.form === FORM.ERROR ? this.#nextField(frame) : this.#nextElement(frame);
  }

  /** Skips the parts of the container just entered, and its event LEAVE. */
  skip() {
    this.#leave(/** @type {Frame} */ (this.#frame));
  }

  /** @param {Frame} frame */
  #nextElement(frame) {
    const { object, length } = frame;
    while (frame.index < length) {
      const index = frame.index++;
      const value = object[index];
      if (value !== undefined || hasOwn(object, index)) {
        return this.#come(value, ROLE.ELEMENT, index);
      }
      this.#work.spend();
    }
    if (frame.position < frame.keys.length) {
      const key = frame.keys[frame.position++];
      const index = frame.form === FORM.ARRAY ? indexOf(key) : -1;
      return index >= 0 ? this.#come(object[index], ROLE.ELEMENT, index) : this.#come(object[key], ROLE.PROPERTY, String(key));
    }
    return this.#end(frame);
  }

  /** @param {Frame} frame */
  #nextField(frame) {
    const { object } = frame;
    while (frame.index < ERROR_FIELDS.length) {
      const name = ERROR_FIELDS[frame.index++];
      const value = object[name];
      if (value !== undefined) {
        return this.#come(value, ROLE.PROPERTY, name);
      }
    }
    while (frame.position < frame.keys.length) {
      const key = String(frame.keys[frame.position++]);
      if (!ERROR_FIELDS.includes(key)) {
        return this.#come(object[key], ROLE.PROPERTY, key);
      }
    }
    return this.#end(frame);
  }

  /** @param {Frame} frame */
  #nextOfMap(frame) {
    const { entry } = frame;
    if (entry !== undefined) {
      frame.entry = undefined;
      return this.#come(entry[1], ROLE.MAP_VALUE, entry[0]);
    }
    const { done, value } = nextEntry(frame.parts);
    if (done) {
      return this.#end(frame);
    }
    frame.entry = value;
    return this.#come(value[0], ROLE.MAP_KEY, undefined);
  }

  /** @param {Frame} frame */
  #nextOfSet(frame) {
    const { done, value } = nextMember(frame.parts);
    return done ? this.#end(frame) : this.#come(value, ROLE.MEMBER, undefined);
  }

  /**
   * @param {any} value
   * @param {number} role
   * @param {unknown} key
   */
  #come(value, role, key) {
    this.value = value;
    this.role = role;
    this.key = key;
    this.isBoxed = false;
    if (typeof value !== 'object' || value === null) {
      return EVENT.LEAF;
    }
    const form = formOf(value);
    if (form === FORM.LEAF) {
      return EVENT.LEAF;
    }
    if (form < 0) {
      this.value = primitiveOf(value);
      this.isBoxed = true;
      return EVENT.LEAF;
    }
    if (this.#closed.has(value)) {
      return EVENT.AGAIN;
    }
    this.#closed.add(value);
    this.#frame = new Frame(value, form, this.#frame);
    return EVENT.ENTER;
  }

  /** @param {Frame} frame */
  #end(frame) {
    this.#leave(frame);
    this.value = frame.object;
    this.parent = frame.outer?.object;
    return EVENT.LEAVE;
  }

  /** @param {Frame} frame */
  #leave(frame) {
    this.#frame = frame.outer;
    if (!this.#isOnce) {
      this.#closed.delete(frame.object);
    }
  }
}

module.exports = { EVENT, ROLE, Visitor };
