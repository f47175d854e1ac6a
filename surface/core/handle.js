'use strict';
// Handles. The state of every instance is in private fields that only this file can write. Other code cannot make an object look like a
// handle, and cannot read or change a handle's id.
//
// An `Entry` is one row of the native table. Several wrappers may share one (a Reference and the result of its `derefInto()`). When the
// last of them is released, or all have been collected, the native side is notified once, and the id is never used again.

const { create, cutOff, finalizationRegister, FinalizationRegistry, freeze } = require('./primordials.js');
const { KIND } = require('./protocol.js');

/** Allows a derived class to add private fields to an existing object. */
class Existing {
  /** @param {object} object */
  constructor(object) {
    return object;
  }
}

/** The private state of handles. */
class State extends Existing {
  /** @type {number} */ #kind;
  /** @type {any} */ #record;

  /**
   * @param {object} object
   * @param {number} kind
   * @param {object} record
   */
  constructor(object, kind, record) {
    super(object);
    this.#kind = kind;
    this.#record = record;
  }

  /**
   * @param {unknown} value
   * @returns {number} -1 if it is not a handle
   */
  static kindOf(value) {
    return typeof value === 'object' && value !== null && #kind in value ? /** @type {State} */ (value).#kind : -1;
  }

  /**
   * @param {unknown} value
   * @param {number} kind
   * @returns {any} undefined if it is not a handle of this kind
   */
  static recordOf(value, kind) {
    if (typeof value !== 'object' || value === null || !(#kind in value)) {
      return undefined;
    }
    const state = /** @type {State} */ (value);
    return state.#kind === kind ? state.#record : undefined;
  }
}

const { kindOf, recordOf } = State;

// Every call looks up the records of these. Engines find a private field fast where they see objects of one class only, so each has a field of
// its own.

class ScriptState extends Existing {
  /** @type {any} */ #record;

  /**
   * @param {object} object
   * @param {object} record
   */
  constructor(object, record) {
    super(object);
    this.#record = record;
  }

  /**
   * @param {unknown} value
   * @returns {any} undefined if it is not a `Script`
   */
  static scriptOf(value) {
    return typeof value === 'object' && value !== null && #record in value ? /** @type {ScriptState} */ (value).#record : undefined;
  }
}

class ContextState extends Existing {
  /** @type {any} */ #record;

  /**
   * @param {object} object
   * @param {object} record
   */
  constructor(object, record) {
    super(object);
    this.#record = record;
  }

  /**
   * @param {unknown} value
   * @returns {any} undefined if it is not a `Context`
   */
  static contextOf(value) {
    return typeof value === 'object' && value !== null && #record in value ? /** @type {ContextState} */ (value).#record : undefined;
  }
}

class ReferenceState extends Existing {
  /** @type {any} */ #record;

  /**
   * @param {object} object
   * @param {object} record
   */
  constructor(object, record) {
    super(object);
    this.#record = record;
  }

  /**
   * @param {unknown} value
   * @returns {any} undefined if it is not a `Reference`
   */
  static referenceOf(value) {
    return typeof value === 'object' && value !== null && #record in value ? /** @type {ReferenceState} */ (value).#record : undefined;
  }
}

const { scriptOf } = ScriptState;
const { contextOf } = ContextState;
const { referenceOf } = ReferenceState;

/** @type {((object: object, target: unknown) => void) | undefined} */
let mark;

/**
 * @param {(object: object, target: unknown) => void} marker called for every handle made from now on, with the function of a `Callback`
 */
function markHandles(marker) {
  mark = marker;
}

/** @type {((Constructor: Function) => object) | undefined} */
let make;

/**
 * @param {((Constructor: Function) => object) | undefined} maker creates the instances that become handles from now on
 */
function makeHandlesWith(maker) {
  make = maker;
}

/**
 * Creates an instance that is to become a handle, without calling the constructor.
 * @param {Function} Constructor
 * @param {object} [self] what the constructor was called with
 * @returns {object} for the constructor to return
 */
function bare(Constructor, self) {
  if (make !== undefined) {
    return make(Constructor);
  }
  return self === undefined ? create(Constructor.prototype) : self;
}

/**
 * Turns `object` into a handle.
 * @template {object} T
 * @param {T} object
 * @param {number} kind
 * @param {object} record
 * @returns {T}
 */
function stamp(object, kind, record) {
  new State(object, kind, record);
  if (kind === KIND.SCRIPT) {
    new ScriptState(object, record);
  } else if (kind === KIND.CONTEXT) {
    new ContextState(object, record);
  } else if (kind === KIND.REFERENCE) {
    new ReferenceState(object, record);
  }
  if (mark !== undefined) {
    mark(object, kind === KIND.CALLBACK ? /** @type {any} */ (record).target : undefined);
  }
  return object;
}

/**
 * The value of `Reference.typeof`: null is "null", symbols and BigInts are "object". A `Callback` is a function, as it can be applied.
 * @param {unknown} value
 * @returns {string}
 */
function typeNameOf(value) {
  if (value === null) {
    return 'null';
  }
  const name = typeof value;
  if (name === 'object') {
    return kindOf(value) === KIND.CALLBACK ? 'function' : 'object';
  }
  return name === 'symbol' || name === 'bigint' ? 'object' : name;
}

/**
 * The error message for sending a released handle.
 * @param {number} kind
 */
function releasedText(kind) {
  switch (kind) {
    case KIND.CONTEXT:
      return 'Context is released';
    case KIND.SCRIPT:
      return 'Script has been released';
    case KIND.MODULE:
      return 'Module has been released';
    case KIND.EXTERNAL_COPY:
      return 'Copy has been released';
    default:
      return 'Handle has been released';
  }
}

/** The part of an entry that outlives its collection. */
class Remains {
  /** @param {number} id */
  constructor(id) {
    /** 0 once the row is free */
    this.id = id;
  }
}
cutOff(Remains);

/** One row of the native table. */
class Entry {
  /** @param {number} id */
  constructor(id) {
    this.id = id;
    this.shares = 1;
    this.remains = new Remains(id);
  }
}
cutOff(Entry);

/** @typedef {Entry} Row */

/**
 * Counts the references to the rows of the native table that this realm holds.
 * @param {(id: number) => void} release frees a row
 * @param {(entry: object, id: number) => void} [track] makes the native side free a row when its entry is collected, even if this realm
 *   has been collected before
 */
function createEntries(release, track) {
  // Created on first use: a realm that never held a handle has no registry, and can be part of a startup snapshot.
  /** @type {FinalizationRegistry<Remains> | undefined} */
  let registry;

  /** @param {Remains} remains */
  function collected(remains) {
    if (remains.id !== 0) {
      release(remains.id);
    }
  }

  /**
   * @param {number} id
   * @returns {Entry}
   */
  function enter(id) {
    const entry = new Entry(id);
    if (track !== undefined) {
      track(entry, id);
      return entry;
    }
    registry ??= new FinalizationRegistry(collected);
    // No unregister token: it would cost more than the rest of this function. `remains.id` marks a released entry instead.
    finalizationRegister(registry, entry, entry.remains);
    return entry;
  }

  /**
   * @param {Entry} entry
   * @returns {Entry}
   */
  function share(entry) {
    entry.shares += 1;
    return entry;
  }

  /** @param {Entry} entry */
  function leave(entry) {
    entry.shares -= 1;
    if (entry.shares === 0) {
      entry.remains.id = 0;
      release(entry.id);
    }
  }

  /**
   * Releases an entry that a carrier still refers to. The call that takes the carrier is made before microtasks run.
   * @param {Entry} entry
   */
  async function leaveLater(entry) {
    await undefined;
    leave(entry);
  }

  return freeze({ enter, share, leave, leaveLater });
}

module.exports = freeze({ bare, contextOf, createEntries, Entry, kindOf, makeHandlesWith, markHandles, recordOf, referenceOf, releasedText, scriptOf, stamp, typeNameOf });
