'use strict';
// Promises of calls under way. A call is known by its request number: positive ones are given out here, negative ones name
// promises that the native side made. Plain promises, so that the host's async context survives an `await`.

const { cutOff, freeze, Map, mapDelete, mapGet, mapSet, Promise } = require('./primordials.js');
const { callSite } = require('./error.js');

/** One promise that a request number will settle. */
class Call {
  /**
   * @param {number} request
   * @param {{ stack?: unknown } | undefined} site where the caller stands
   * @param {object} [signal]
   */
  constructor(request, site, signal) {
    this.request = request;
    this.site = site;
    /** @type {(value: any) => void} */
    this.resolve = nothing;
    /** @type {(reason: unknown) => void} */
    this.reject = nothing;
    /** what may abort it; told by `core.begin`, followed from `core.conclude` on */
    this.signal = signal;
    /** ends the following */
    this.unfollow = nothing;
    filling = this;
    /** @type {Promise<any>} */
    this.promise = new Promise(fill);
  }
}
cutOff(Call);

/** @typedef {Call} Waiting */

function nothing() {}

// The executor runs inside the constructor, so one function serves all promises and none is allocated for each.
/** @type {Call | undefined} */
let filling;

/**
 * @param {(value: any) => void} resolve
 * @param {(reason: unknown) => void} reject
 */
function fill(resolve, reject) {
  if (filling !== undefined) {
    filling.resolve = resolve;
    filling.reject = reject;
    filling = undefined;
  }
}

const LAST_REQUEST = 0x7fff_ffff;

/** @param {(request: number) => void} [begun] hears of every call */
function createCalls(begun) {
  /** @type {Map<number, Call>} */
  const pending = new Map();
  let last = 0;

  /**
   * A call made by `method`, a public one, whose caller shall appear in the stacks of its errors.
   * @param {Function} method
   * @param {object} [signal] what may abort it
   * @param {{ stack?: unknown }} [site] where the caller stands, if `method` has noted that itself
   * @returns {Call}
   */
  function begin(method, signal, site = callSite(method)) {
    last = last === LAST_REQUEST ? 1 : last + 1;
    const call = new Call(last, site, signal);
    mapSet(pending, last, call);
    if (begun !== undefined) {
      begun(last);
    }
    return call;
  }

  /**
   * A promise that the native side has announced.
   * @param {number} request negative
   * @returns {Promise<any>}
   */
  function expect(request) {
    const call = new Call(request, undefined);
    mapSet(pending, request, call);
    return call.promise;
  }

  /**
   * The call that `request` names, once; undefined when nobody waits for it any more.
   * @param {number} request
   * @returns {Call | undefined}
   */
  function finish(request) {
    const call = mapGet(pending, request);
    if (call !== undefined) {
      mapDelete(pending, request);
      call.unfollow();
    }
    return call;
  }

  /**
   * The outcome of a call is a promise that the native side has announced: the call waits for that.
   * @param {number} request
   * @param {number} promised negative
   */
  function proceed(request, promised) {
    const call = mapGet(pending, request);
    if (call !== undefined) {
      mapDelete(pending, request);
      call.request = promised;
      mapSet(pending, promised, call);
    }
  }

  /**
   * The promise of a call that failed before it was made.
   * @param {unknown} error
   * @returns {Promise<any>}
   */
  function rejected(error) {
    const call = new Call(0, undefined);
    call.reject(error);
    return call.promise;
  }

  return freeze({ begin, expect, finish, proceed, rejected });
}

module.exports = freeze({ createCalls });
