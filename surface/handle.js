'use strict';
// What makes an object a handle. The private state of every instance hangs on private fields that only this file can
// write, so that no object can be made to look like a handle from outside, and a handle's id cannot be read or changed.
//
// An `Entry` is one row of the native table. Several wrappers may share one (a Reference and what its `derefInto()`
// returned); when the last of them is released, or all were collected, the native side is told once and the id is never
// named again.

const { cutOff, finalizationRegister, FinalizationRegistry, freeze } = require('./primordials.js');
const { KIND } = require('./protocol.js');

/** Lets private fields be put on an object that exists already. */
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
   * @returns {number} -1 for what is no handle
   */
  static kindOf(value) {
    return typeof value === 'object' && value !== null && #kind in value ? /** @type {State} */ (value).#kind : -1;
  }

  /**
   * @param {unknown} value
   * @param {number} kind
   * @returns {any} undefined for what is no handle of this kind
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

/** @type {((object: object, target: unknown) => void) | undefined} */
let mark;

/**
 * @param {(object: object, target: unknown) => void} marker sees every handle that is made from now on, and the function of a
 *   `Callback`
 */
function markHandles(marker) {
  mark = marker;
}

/**
 * Makes `object` a handle.
 * @template {object} T
 * @param {T} object
 * @param {number} kind
 * @param {object} record
 * @returns {T}
 */
function stamp(object, kind, record) {
  new State(object, kind, record);
  if (mark !== undefined) {
    mark(object, kind === KIND.CALLBACK ? /** @type {any} */ (record).target : undefined);
  }
  return object;
}

/**
 * What `Reference.typeof` says of a value: null is "null", symbols and BigInts are objects. A `Callback` can be applied.
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
 * What is said where a handle is sent that was released.
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

/** What remains of an entry when it was collected. */
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
 * Keeps count of the rows of the native table that this realm holds.
 * @param {(id: number) => void} release frees a row
 * @param {(entry: object, id: number) => void} [track] has a row freed when its entry is collected, also after this realm is
 */
function createEntries(release, track) {
  // Made on first use: a realm that never held a handle has no registry, and can be part of a startup snapshot.
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
    // Without a token to unregister by, which costs more than all of this: a released entry is known by its remains.
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
   * Gives up an entry that a carrier still names: the call which takes the carrier is made before microtasks run.
   * @param {Entry} entry
   */
  async function leaveLater(entry) {
    await undefined;
    leave(entry);
  }

  return freeze({ enter, share, leave, leaveLater });
}

module.exports = freeze({ kindOf, recordOf, stamp, Entry, createEntries, markHandles, releasedText, typeNameOf });
