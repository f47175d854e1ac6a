'use strict';
// The async context (`AsyncLocalStorage`) of pending calls. When the event loop runs a function of this host for a guest, on behalf of
// such a call, the function sees the stores of the call's caller. A call is pending until it settles; with `promise: true`, until the
// promise that it returned settles.

const { AsyncResource } = require('node:async_hooks');
const { TAG } = require('../../core/protocol.js');

/** In Node, the native side keeps the contexts of calls, and enters them (`src/host/async_contexts.rs`). */
const isKeptByNative = process.versions.bun === undefined && process.versions.deno === undefined;

/** Captures the current context. The destroy event is emitted by `#drop`, and not by the garbage collector, which costs more. */
const capture = () => new AsyncResource('isolated-v8', { requireManualDestroy: true });

class Callers {
  #owned;
  #native;
  /** By request; undefined for those that the native side keeps. @type {Map<number, AsyncResource | undefined>} */
  #contexts = new Map();
  /** @type {Map<number, number>} the requests that returned promises, by the promises' numbers */
  #promised = new Map();

  /**
   * @param {import('../values/owned.js').Table} owned
   * @param {object} native
   * @param {(request: number) => void} native.keepContext keeps the current context
   * @param {(request: number) => void} native.dropContext
   */
  constructor(owned, native) {
    this.#owned = owned;
    this.#native = native;
  }

  /**
   * An asynchronous call begins.
   * @param {number} request
   */
  begun(request) {
    // Guests that hold no values of this host cannot call it.
    if (!this.#owned.isEmpty) {
      if (isKeptByNative) this.#native.keepContext(request);
      this.#contexts.set(request, isKeptByNative ? undefined : capture());
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
        this.#drop(caller);
      }
    } else if (Array.isArray(carrier) && carrier[0] === TAG.PROMISE && this.#contexts.has(request)) {
      this.#promised.set(carrier[1], request);
    } else {
      this.#drop(request);
    }
  }

  /**
   * Without a destroy event, tools such as Jest report the call as an open handle.
   * @param {number} request
   */
  #drop(request) {
    const context = this.#contexts.get(request);
    if (this.#contexts.delete(request)) {
      if (context === undefined) this.#native.dropContext(request);
      else context.emitDestroy();
    }
  }

  /**
   * Runs a function in the async context of a call.
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
  const context = new AsyncResource('isolated-v8');
  return (...args) => context.runInAsyncScope(target, undefined, ...args);
}

/** @typedef {Callers} CallContexts */

module.exports = { bind, Callers };
