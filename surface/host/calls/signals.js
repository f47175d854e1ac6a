'use strict';
// `AbortSignal`s that are passed to calls. Any object with that interface is accepted, because a host may have several realms, and some
// packages have signals of their own.

const { MESSAGE } = require('../../core/protocol.js');
const { CODE, coded } = require('../../core/error.js');
const { alone } = require('../../core/primordials.js');
const { discard, notify, ORIGIN, report } = require('./host-calls.js');

/** @type {any} */
const ONCE = alone({ once: true });

/** Everything that one signal aborts. The signal gets one listener for all, since hosts warn about many listeners. */
class Followers {
  /** @type {Set<() => void>} */
  aborts = new Set();
  signal;
  listener;

  /** @param {any} signal */
  constructor(signal) {
    this.signal = signal;
    this.listener = () => {
      followed.delete(signal);
      for (const abort of this.aborts) {
        try {
          abort();
        } catch (error) {
          // The others are still aborted.
          report(ORIGIN.SIGNAL, error);
        }
      }
    };
    discard(ORIGIN.SIGNAL, signal.addEventListener('abort', this.listener, ONCE));
  }

  /** @param {() => void} abort */
  leave(abort) {
    if (this.aborts.delete(abort) && this.aborts.size === 0 && followed.get(this.signal) === this) {
      followed.delete(this.signal);
      notify(ORIGIN.SIGNAL, () => this.signal.removeEventListener('abort', this.listener), undefined, []);
    }
  }
}

/** @type {WeakMap<object, Followers>} */
const followed = new WeakMap();

/** @param {any} value */
function isSignal(value) {
  try {
    return typeof value === 'object' && typeof value.aborted === 'boolean'
      && typeof value.addEventListener === 'function' && typeof value.removeEventListener === 'function';
  } catch {
    return false;
  }
}

/** @param {any} signal */
function reason(signal) {
  try {
    const { reason: given } = signal;
    return given === undefined ? coded(Error, MESSAGE.ABORTED, CODE.ABORTED) : given;
  } catch (error) {
    return error;
  }
}

/**
 * @param {any} signal
 * @param {() => void} abort
 */
function follow(signal, abort) {
  let followers = followed.get(signal);
  if (followers === undefined) {
    followers = new Followers(signal);
    followed.set(signal, followers);
  }
  const all = followers;
  all.aborts.add(abort);
  if (signal.aborted) {
    // It was aborted since the last check, perhaps while the call's own options were read.
    all.leave(abort);
    abort();
  }
  return () => all.leave(abort);
}

/** Wraps a signal of the host: its getters do not throw, and its reason does not change. */
class GuardedSignal {
  #signal;
  /** @type {{ reason: unknown } | undefined} */ #ended;

  /** @param {any} signal */
  constructor(signal) {
    this.#signal = signal;
  }

  get aborted() {
    try {
      return this.#ended !== undefined || this.#signal.aborted === true;
    } catch (error) {
      this.#ended = { reason: error };
      return true;
    }
  }

  get reason() {
    if (!this.aborted) {
      return undefined;
    }
    this.#ended ??= { reason: reason(this.#signal) };
    return this.#ended.reason;
  }

  /**
   * A signal that throws here counts as aborted.
   * @param {string} type
   * @param {() => void} listener
   * @param {object} options
   * @returns {unknown} what the signal's method returns
   */
  addEventListener(type, listener, options) {
    try {
      return this.#signal.addEventListener(type, listener, options);
    } catch (error) {
      this.#ended ??= { reason: error };
      return undefined;
    }
  }

  /**
   * @param {string} type
   * @param {() => void} listener
   * @returns {unknown}
   */
  removeEventListener(type, listener) {
    return this.#signal.removeEventListener(type, listener);
  }

  /**
   * @param {() => void} abort called when the signal is aborted, immediately if it already is
   * @returns {() => void} stops following the signal
   */
  follow(abort) {
    return follow(this, abort);
  }
}

/** @type {WeakMap<object, GuardedSignal>} */
const guarded = new WeakMap();

/**
 * @param {any} signal
 * @returns {GuardedSignal} the same object each time for the same signal
 */
function guard(signal) {
  const found = guarded.get(signal) ?? new GuardedSignal(signal);
  guarded.set(signal, found);
  return found;
}

/** @typedef {GuardedSignal} Signal */

/**
 * @param {any} native
 * @returns {import('../../index.js').Signals}
 */
const createSignals = (native) => Object.freeze({
  isSignal,
  reason,
  follow,
  abort: (request) => native.abort(request),
});

module.exports = { createSignals, guard, isSignal };
