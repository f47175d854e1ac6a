'use strict';
// The CPU time of a plugin for everything that its host causes: executions and events, and what the plugin continues through promises
// afterwards. The engine limits each of these separately; this file limits their sum.

const { now, setTimeout } = require('../../../clock.js');

const NANOSECONDS = 1_000_000;
/** Milliseconds between two checks of a plugin that is busy. */
const WATCH = 500;
/** Nanoseconds beyond the budget: the engine stops single executions and events first, without further consequences for the plugin. */
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
   * @param {() => void} exhausted called if the plugin continues beyond its budget
   */
  constructor(isolate, milliseconds, exhausted) {
    this.#isolate = isolate;
    this.#size = BigInt(milliseconds * NANOSECONDS);
    this.#exhausted = exhausted;
  }

  /** @returns {bigint} meaningless once the isolate has ended, which can happen at any moment */
  get #now() {
    try {
      return this.#isolate.cpuTime;
    } catch {
      return this.#end;
    }
  }

  /**
   * An execution or event begins.
   * @param {number} lasting milliseconds for which the plugin may continue it from time to time
   * @returns {boolean} whether it adds to the budget: not if the plugin itself caused it
   */
  begin(lasting) {
    const isNew = this.#calls === 0;
    if (isNew) {
      this.#end = (this.#underWay === 0 ? this.#now : this.#end) + this.#size;
    }
    this.#underWay += 1;
    this.#until = Math.max(this.#until, now() + lasting);
    this.#watch();
    return isNew;
  }

  /** An execution or event ends, as far as the host knows. Time that it has not used is not available to others. */
  finish() {
    this.#underWay -= 1;
    const most = this.#now + this.#size * BigInt(Math.max(this.#underWay, 1));
    if (this.#end > most) {
      this.#end = most;
    }
  }

  /** Whether the budget is used up: the host serves no more calls of the plugin. */
  get isSpent() {
    return this.#now > this.#end;
  }

  /**
   * Runs code of the host for the plugin.
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
      setTimeout(() => this.#look(), WATCH).unref();
    }
  }

  /** Continues to check as long as the plugin is active. */
  #look() {
    this.#isWatched = false;
    const used = this.#now;
    if (this.#isolate.isDisposed) {
      return;
    }
    if (used > this.#end + SLACK) {
      this.#exhausted();
    } else if (this.#underWay > 0 || used !== this.#seen || now() < this.#until) {
      this.#seen = used;
      this.#watch();
    }
  }
}

/** @typedef {Budget} PluginBudget */

module.exports = { Budget };
