'use strict';
// Values of this realm that others hold: the other end of every Reference and function that was sent away. Each carrier gets
// a slot of its own, which the native side gives back once, when the last holder is gone.

class Owned {
  /** @type {unknown[]} */ #values = [];
  /** @type {number[]} */ #notes = [];
  /** @type {number[]} */ #free = [];
  /** @type {number[]} slots of carriers that may not have left yet */ #fresh = [];
  /** @type {() => number[]} */ #taken;

  /** @param {() => number[]} taken the slots that the native side was given since it was asked last */
  constructor(taken) {
    this.#taken = taken;
  }

  /**
   * @param {unknown} value
   * @param {number} note what the slot's user must know beside the value
   * @returns {number} the slot
   */
  own(value, note) {
    const slot = this.#free.pop() ?? this.#values.length;
    this.#values[slot] = value;
    this.#notes[slot] = note;
    if (this.#fresh.push(slot) === 1) {
      // A carrier leaves in the same turn that makes it, or never: a later part of its call was refused.
      queueMicrotask(() => { this.#sweep(); });
    }
    return slot;
  }

  #sweep() {
    const fresh = this.#fresh;
    this.#fresh = [];
    const taken = this.#taken();
    if (taken.length >= fresh.length) {
      return;
    }
    const kept = new Set(taken);
    for (const slot of fresh) {
      if (!kept.has(slot)) {
        this.disown(slot);
      }
    }
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
