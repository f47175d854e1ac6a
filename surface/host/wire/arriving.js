'use strict';
// What functions and getters of the host give to guests, until the library has handled the promises in it. A time limit of `node:vm` can end
// JavaScript before: then `discardArrived` in calls/host-calls.js finds them here.

/** Assign the fields directly: where a function begins, it may be too late. */
const arriving = {
  /**
   * What a function has returned or thrown; null if a guest's request is being served and nothing has arrived, undefined if none is.
   * @type {unknown}
   */
  value: undefined,
  /** The object that the codec has read from a property: a getter may have created it. @type {unknown} */
  part: undefined,
  /** What writes it for a guest. @type {{ objects(): readonly unknown[] } | undefined} */
  writer: undefined,
  /**
   * The objects of a value that could not be written: getters may have created some. The codec notes them only if this is `NOTHING`.
   * @type {readonly unknown[] | undefined}
   */
  unwritten: undefined,
};

/** @type {readonly unknown[]} */
const NOTHING = Object.freeze([]);

module.exports = { arriving, NOTHING };
