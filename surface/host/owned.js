'use strict';
// Values of this realm that others hold: the other end of every Reference and function that was sent away. The native side asks for a slot
// when it reads a carrier, and names the slots that have lost their last holder: on a turn of the event loop, and before each request that
// it hands over, also while a call of this realm waits.

/** No tickets. */
const NOTHING = [0, 0];

class Owned {
  /** @type {unknown[]} */ #values = [];
  /** @type {number[]} */ #notes = [];
  /** @type {number[]} */ #free = [];
  /** Values of carriers that the native side has not read, by tickets. Deno keeps what it is handed until the outermost call returns. @type {Map<number, unknown>} */
  #offers = new Map();
  #lastTicket = 0;
  /** The offers of this turn are to be withdrawn at its end. */
  #endsTurn = false;
  /** Tickets of the request that was served last: those above the first, up to the second. */
  #served = NOTHING;
  /** @type {() => number[]} */ #disowned;

  /** @param {() => number[]} disowned the slots that have lost their last holder since this was called last */
  constructor(disowned) {
    this.#disowned = disowned;
  }

  /**
   * A carrier is made. It is read in the same turn, or never: a later part of its call was refused.
   * @param {unknown} value
   * @returns {number} what `own` gets
   */
  offer(value) {
    this.#lastTicket += 1;
    this.#offers.set(this.#lastTicket, value);
    if (!this.#endsTurn) {
      this.#endsTurn = true;
      queueMicrotask(() => {
        this.#endsTurn = false;
        this.#offers.clear();
      });
    }
    return this.#lastTicket;
  }

  /**
   * A request begins. The answer to the one before was read, if it was to be.
   * @returns {number} for `leave`
   */
  enter() {
    const [first, last] = this.#served;
    for (let ticket = first + 1; ticket <= last && this.#offers.size > 0; ticket += 1) {
      this.#offers.delete(ticket);
    }
    this.#served = NOTHING;
    return this.#lastTicket;
  }

  /**
   * It is answered.
   * @param {number} entered
   */
  leave(entered) {
    if (this.#lastTicket > entered) {
      this.#served = [entered, this.#lastTicket];
    }
  }

  /**
   * @param {number} ticket
   * @param {number} note what the slot's user must know beside the value
   * @returns {number} the slot
   */
  own(ticket, note) {
    const value = this.#offers.get(ticket);
    this.#offers.delete(ticket);
    const slot = this.#free.pop() ?? this.#values.length;
    this.#values[slot] = value;
    this.#notes[slot] = note;
    return slot;
  }

  /** Nobody holds anything, and nobody will when the carriers are read that were made. */
  get isEmpty() {
    return this.#free.length === this.#values.length && this.#offers.size === 0;
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
