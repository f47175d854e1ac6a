'use strict';
// `AbortSignal`s that calls are given. Any object with that interface will do: there is more than one realm in a host, and
// there are packages that bring a signal of their own.

const { CODE, coded } = require('../error.js');
const { alone } = require('../primordials.js');

/** @type {any} */
const ONCE = alone({ once: true });

/** Everything that one signal may abort. It gets one listener for all of them, as hosts warn of many. */
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
        abort();
      }
    };
    signal.addEventListener('abort', this.listener, ONCE);
  }

  /** @param {() => void} abort */
  leave(abort) {
    if (this.aborts.delete(abort) && this.aborts.size === 0 && followed.get(this.signal) === this) {
      followed.delete(this.signal);
      this.signal.removeEventListener('abort', this.listener);
    }
  }
}

/** @type {WeakMap<object, Followers>} */
const followed = new WeakMap();

/** @param {any} value */
const isSignal = (value) => typeof value === 'object' && typeof value.aborted === 'boolean'
  && typeof value.addEventListener === 'function' && typeof value.removeEventListener === 'function';

/** @param {any} signal */
function reason(signal) {
  try {
    const { reason: given } = signal;
    return given === undefined ? coded(Error, 'The call was aborted', CODE.ABORTED) : given;
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
    // Since it was looked at: the call's own options may have done that.
    all.leave(abort);
    abort();
  }
  return () => all.leave(abort);
}

/**
 * @param {any} native
 * @returns {import('../index.js').Signals}
 */
const createSignals = (native) => Object.freeze({
  isSignal,
  reason,
  follow,
  announce: (request) => native.announce(request),
  abort: (request) => native.abort(request),
});

module.exports = { createSignals, isSignal };
