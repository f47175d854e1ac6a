'use strict';
// Promises of pending calls. A call is identified by its request number: positive numbers are assigned here, negative ones identify
// promises that the native side created. These are plain promises, so that the host's async context survives an `await`.

const { cutOff, freeze, Map, mapDelete, mapGet, mapSet, Promise, promiseThen } = require('./primordials.js');
const { callSite } = require('./error.js');
const { ABORTABLE } = require('./protocol.js');

/** One promise that a request number will settle. */
class Call {
  /**
   * @param {number} request
   * @param {{ stack?: unknown } | undefined} site the call site
   * @param {object} [signal]
   */
  constructor(request, site, signal) {
    this.request = request;
    this.site = site;
    /** @type {(value: any) => void} */
    this.resolve = nothing;
    /** @type {(reason: unknown) => void} */
    this.reject = nothing;
    /** aborts the call; set by `core.begin`, observed from `core.conclude` on */
    this.signal = signal;
    /** stops observing the signal */
    this.unfollow = nothing;
    // Hooks of a host that run when a promise is created may begin calls.
    const before = filling;
    filling = this;
    /** @type {Promise<any>} */
    this.promise = new Promise(fill);
    filling = before;
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
  }
}

const LAST_REQUEST = ABORTABLE - 1;

/** @param {(request: number) => void} [begun] called for every call */
function createCalls(begun) {
  /** @type {Map<number, Call>} */
  const pending = new Map();
  let last = 0;

  /**
   * Starts a call for the public `method`, whose caller appears in the stacks of its errors.
   * @param {Function} method
   * @param {object} [signal] aborts the call
   * @param {{ stack?: unknown }} [site] the call site, if `method` captured it itself
   * @returns {Call}
   */
  function begin(method, signal, site = callSite(method)) {
    last = last === LAST_REQUEST ? 1 : last + 1;
    const request = signal === undefined ? last : last | ABORTABLE;
    const call = new Call(request, site, signal);
    mapSet(pending, request, call);
    if (begun !== undefined) {
      begun(request);
    }
    return call;
  }

  /**
   * A promise for a request number that the native side announced.
   * @param {number} request negative
   * @param {boolean} [handled] whether its rejection needs no other handler
   * @returns {Promise<any>}
   */
  function expect(request, handled = false) {
    const call = new Call(request, undefined);
    // Before it can settle: a time limit of `node:vm` may end JavaScript anywhere.
    if (handled) promiseThen(call.promise, undefined, nothing);
    mapSet(pending, request, call);
    return call.promise;
  }

  /**
   * Removes and returns the call of `request`; undefined if it is no longer pending.
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
   * The outcome of a call is a promise that the native side announced. The call now waits for that promise.
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
   * The rejected promise of a call that failed before it started.
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
