'use strict';
// Values of this realm that others hold: the other end of every Reference and function that was sent away. Each carrier gets
// a slot of its own, which the native side gives back once, when the last holder is gone.

class Owned {
  /** @type {unknown[]} */ #values = [];
  /** @type {number[]} */ #notes = [];
  /** @type {number[]} */ #free = [];

  /**
   * @param {unknown} value
   * @param {number} note what the slot's user must know beside the value
   * @returns {number} the slot
   */
  own(value, note) {
    const slot = this.#free.pop() ?? this.#values.length;
    this.#values[slot] = value;
    this.#notes[slot] = note;
    return slot;
  }

  /** Nobody holds anything. */
  get isEmpty() {
    return this.#free.length === this.#values.length;
  }

  /** @param {number} slot */
  value(slot) {
    return this.#values[slot];
  }

  /** @param {number} slot */
  note(slot) {
    return this.#notes[slot];
  }

  /** @param {number} slot */
  disown(slot) {
    this.#values[slot] = undefined;
    this.#free.push(slot);
  }
}

/** @typedef {Owned} Table */

module.exports = { Owned };
