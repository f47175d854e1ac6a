'use strict';
// Values of this realm that others hold: the other end of every Reference and function that was sent away. The native side asks for a slot
// when it reads a carrier, and names the slots that have lost their last holder: on a turn of the event loop, and before each request that
// it hands over, also while a call of this realm waits.

class Owned {
  /** @type {unknown[]} */ #values = [];
  /** @type {number[]} */ #notes = [];
  /** @type {number[]} */ #free = [];
  /** A carrier was made since the native side has read one. */
  #isOffered = false;
  /** @type {() => number[]} */ #disowned;

  /** @param {() => number[]} disowned the slots that have lost their last holder since this was called last */
  constructor(disowned) {
    this.#disowned = disowned;
  }

  /** A carrier that needs a slot is made. */
  offer() {
    this.#isOffered = true;
  }

  /**
   * @param {unknown} value
   * @param {number} note what the slot's user must know beside the value
   * @returns {number} the slot
   */
  own(value, note) {
    this.#isOffered = false;
    const slot = this.#free.pop() ?? this.#values.length;
    this.#values[slot] = value;
    this.#notes[slot] = note;
    return slot;
  }

  /** Nobody holds anything, and nobody will when the carriers are read that were made. */
  get isEmpty() {
    return this.#free.length === this.#values.length && !this.#isOffered;
  }

  /** @param {number} slot */
  value(slot) {
    return this.#values[slot];
  }

  /** @param {number} slot */
  note(slot) {
    return this.#notes[slot];
  }

  /** Empties the slots that nobody holds any more. */
  sweep() {
    for (const slot of this.#disowned()) {
      this.#values[slot] = undefined;
      this.#free.push(slot);
    }
  }
}

/** @typedef {Owned} Table */

module.exports = { Owned };
