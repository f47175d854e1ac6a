'use strict';
// The async context (`AsyncLocalStorage`) of calls under way, for the functions of this host that guests call on their behalf
// from the event loop: there they find the stores of whoever made the call. A call is under way until it has settled, and with
// `promise: true` until the promise that came out of it has.

const { AsyncResource } = require('node:async_hooks');
const { TAG } = require('../protocol.js');

/** What is captured; nobody hears of its end. It costs a fraction of `AsyncLocalStorage.snapshot()`. */
const capture = () => new AsyncResource('isolated-v8', { requireManualDestroy: true });

class Callers {
  #owned;
  /** @type {Map<number, AsyncResource>} by request */
  #contexts = new Map();
  /** @type {Map<number, number>} the requests behind promises, by the promises' numbers */
  #promised = new Map();

  /** @param {import('./owned.js').Table} owned */
  constructor(owned) {
    this.#owned = owned;
  }

  /**
   * An asynchronous call is being made.
   * @param {number} request
   */
  begun(request) {
    // Where guests hold nothing of this host they can call nothing.
    if (!this.#owned.isEmpty) {
      this.#contexts.set(request, capture());
    }
  }

  /**
   * @param {number} request
   * @param {any} carrier
   */
  settled(request, carrier) {
    if (this.#contexts.size === 0) {
      return;
    }
    if (request < 0) {
      const caller = this.#promised.get(request);
      if (caller !== undefined) {
        this.#promised.delete(request);
        this.#contexts.delete(caller);
      }
    } else if (Array.isArray(carrier) && carrier[0] === TAG.PROMISE && this.#contexts.has(request)) {
      this.#promised.set(carrier[1], request);
    } else {
      this.#contexts.delete(request);
    }
  }

  /**
   * Runs something on behalf of a call.
   * @template {any[]} A
   * @template R
   * @param {number} caller its request
   * @param {(...args: A) => R} run
   * @param {A} args
   * @returns {R}
   */
  run(caller, run, args) {
    const context = this.#contexts.get(caller);
    return context === undefined ? run(...args) : context.runInAsyncScope(run, undefined, ...args);
  }
}

/**
 * @param {(...args: any[]) => any} target
 * @returns {(...args: any[]) => any}
 */
function bind(target) {
  const context = capture();
  return (...args) => context.runInAsyncScope(target, undefined, ...args);
}

module.exports = { bind, Callers };
