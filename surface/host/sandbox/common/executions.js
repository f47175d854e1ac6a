'use strict';
// The executions of one sandbox: which of them run, and how they end when the sandbox ends them.

/** @template {{ dispose(): void }} T */
class Executions {
  /** @type {Set<T | undefined>} */ #running = new Set();
  /** ends the removal of types for executions that have not started @type {Set<AbortController>} */ #stripping = new Set();
  /** @type {Set<Promise<unknown>>} */ #outcomes = new Set();
  /** how often running executions were ended */ #disposals = 0;
  isClosed = false;

  /** The one that started last. */
  get last() {
    return [...this.#running].at(-1);
  }

  get areRunning() {
    return this.#outcomes.size > 0;
  }

  /** @returns {() => boolean} whether an execution that begins now was ended */
  begin() {
    const disposals = this.#disposals;
    return () => this.isClosed || this.#disposals > disposals;
  }

  /**
   * Counts an execution among those of the sandbox until it has an outcome.
   * @template O
   * @param {Promise<O>} outcome
   */
  async follow(outcome) {
    this.#outcomes.add(outcome);
    try {
      return await outcome;
    } finally {
      this.#outcomes.delete(outcome);
    }
  }

  /** @param {T} running can be ended from now on */
  add(running) {
    this.#running.add(running);
  }

  /** @param {T | undefined} running `undefined` if it has not started */
  remove(running) {
    this.#running.delete(running);
  }

  /**
   * Removes types for these executions, until they are ended.
   * @param {import('./typescript.js').Strip} strip
   * @returns {import('./typescript.js').Strip}
   */
  ending(strip) {
    return async (bodies, timeout, signal) => {
      const { guard } = require('../../calls/signals.js');
      const controller = new AbortController();
      const unfollow = signal?.follow(() => controller.abort());
      this.#stripping.add(controller);
      try {
        return await strip(bodies, timeout, guard(controller.signal));
      } finally {
        this.#stripping.delete(controller);
        unfollow?.();
      }
    };
  }

  /** Ends running executions, which resolve with an error. */
  dispose() {
    this.#disposals += 1;
    for (const running of this.#running) {
      running?.dispose();
    }
    for (const controller of this.#stripping) {
      controller.abort();
    }
  }

  /** Ends running executions; later ones resolve with an error at once. */
  async close() {
    this.isClosed = true;
    this.dispose();
    await Promise.allSettled(this.#outcomes);
  }
}

/**
 * @template {{ dispose(): void }} T
 * @typedef {Executions<T>} SandboxExecutions
 */

module.exports = { Executions };
