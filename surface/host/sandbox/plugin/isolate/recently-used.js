'use strict';
// What a plugin may still refer to by number: contexts and actors. Those that are no longer in use are kept for a while, since only the
// plugin's garbage collector could tell whether the plugin still refers to them.

/** @typedef {{ readonly isInUse: boolean }} Usable */

/** @template {Usable} T */
class RecentlyUsed {
  /** @type {Map<number, T>} the one used last is the last */ #all = new Map();
  #last = 0;
  #maxIdle;

  /** @param {number} maxIdle how many may be kept that are not in use */
  constructor(maxIdle) {
    this.#maxIdle = maxIdle;
  }

  /**
   * @param {T} value
   * @returns {number} from 1
   */
  add(value) {
    this.#last += 1;
    this.#all.set(this.#last, value);
    this.#forgetIdle();
    return this.#last;
  }

  /**
   * @param {any} number
   * @returns {T | undefined} undefined if it is no longer kept
   */
  use(number) {
    const value = this.#all.get(number);
    if (value !== undefined) {
      this.#all.delete(number);
      this.#all.set(number, value);
    }
    return value;
  }

  #forgetIdle() {
    let excess = this.#all.size - this.#maxIdle;
    for (const [number, value] of this.#all) {
      // The newest is not in use yet.
      if (excess <= 0 || number === this.#last) {
        return;
      }
      if (!value.isInUse) {
        this.#all.delete(number);
        excess -= 1;
      }
    }
  }
}

/**
 * @template {Usable} T
 * @typedef {RecentlyUsed<T>} RecentlyUsedTable
 */

module.exports = { RecentlyUsed };
