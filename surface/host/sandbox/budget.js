'use strict';
// The processor time of a plugin in all that its host brings about: executions and events, and whatever the plugin goes on with
// by promises afterwards. The engine limits each piece of that by itself; here is what they may take together.

const { performance } = require('node:perf_hooks');
const timers = require('node:timers');

const NANOSECONDS = 1_000_000;
/** Milliseconds between two looks at a plugin that is busy. */
const WATCH = 500;
/** Nanoseconds beyond the budget: the engine stops single pieces first, which costs the plugin nothing more. */
const SLACK = 1_000_000_000n;

class Budget {
  /** nanoseconds of the isolate's clock */
  #end = 0n;
  #seen = 0n;
  #underWay = 0;
  #calls = 0;
  #until = 0;
  #isWatched = false;
  #isolate;
  #size;
  #exhausted;

  /**
   * @param {{ isDisposed: boolean, cpuTime: bigint }} isolate
   * @param {number} milliseconds
   * @param {() => void} exhausted the plugin goes on all the same
   */
  constructor(isolate, milliseconds, exhausted) {
    this.#isolate = isolate;
    this.#size = BigInt(milliseconds * NANOSECONDS);
    this.#exhausted = exhausted;
  }

  /** @returns {bigint} of no use once the isolate has ended, which it may at any moment */
  get #now() {
    try {
      return this.#isolate.cpuTime;
    } catch {
      return this.#end;
    }
  }

  /**
   * Something begins.
   * @param {number} lasting milliseconds for which the plugin may go on with it from time to time
   * @returns {boolean} whether there is time for it: not where the plugin itself has brought it about
   */
  begin(lasting) {
    const isNew = this.#calls === 0;
    if (isNew) {
      this.#end = (this.#underWay === 0 ? this.#now : this.#end) + this.#size;
    }
    this.#underWay += 1;
    this.#until = Math.max(this.#until, performance.now() + lasting);
    this.#watch();
    return isNew;
  }

  /** It has ended, as far as its host knows: what it has not used is not for others. */
  finish() {
    this.#underWay -= 1;
    const most = this.#now + this.#size * BigInt(Math.max(this.#underWay, 1));
    if (this.#end > most) {
      this.#end = most;
    }
  }

  /** The plugin gets no more from its host. */
  get isSpent() {
    return this.#now > this.#end;
  }

  /**
   * Runs something of the host's for the plugin.
   * @template R
   * @param {() => R} run
   * @returns {R}
   */
  during(run) {
    this.#calls += 1;
    try {
      return run();
    } finally {
      this.#calls -= 1;
    }
  }

  #watch() {
    if (!this.#isWatched) {
      this.#isWatched = true;
      timers.setTimeout(() => this.#look(), WATCH).unref();
    }
  }

  /** Looks again as long as the plugin does something. */
  #look() {
    this.#isWatched = false;
    const now = this.#now;
    if (this.#isolate.isDisposed) {
      return;
    }
    if (now > this.#end + SLACK) {
      this.#exhausted();
    } else if (this.#underWay > 0 || now !== this.#seen || performance.now() < this.#until) {
      this.#seen = now;
      this.#watch();
    }
  }
}

/** @typedef {Budget} PluginBudget */

module.exports = { Budget };
