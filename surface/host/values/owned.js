'use strict';
// Values of this realm that isolates hold: the targets of the References and functions that were sent to them. The native side requests a
// slot when it reads a carrier. It reports slots that have lost their last holder on a turn of the event loop, and before each request that
// it delivers, even while a call of this realm waits.

const { queueMicrotask } = require('../clock.js');

/** No tickets. */
const NOTHING = [0, 0];

class Owned {
  /** @type {unknown[]} */ #values = [];
  /** @type {number[]} */ #notes = [];
  /** @type {number[]} */ #free = [];
  /**
   * Values of carriers that the native side has not read, by ticket. Deno keeps every value that it passes to native code until the outermost
   * call returns.
   * @type {Map<number, unknown>}
   */
  #offers = new Map();
  #lastTicket = 0;
  /** Whether the offers of this turn will be withdrawn at its end. */
  #endsTurn = false;
  /** Tickets of the request that was served last: those above the first number, up to and including the second. */
  #served = NOTHING;
  /** @type {() => number[]} */ #disowned;

  /** @param {() => number[]} disowned returns the slots that have lost their last holder since the previous call */
  constructor(disowned) {
    this.#disowned = disowned;
  }

  /**
   * Call it for each new carrier. The carrier is read in the same turn, or never, if a later part of its call is refused.
   * @param {unknown} value
   * @returns {number} the ticket, which `own` gets
   */
  offer(value) {
    this.#lastTicket += 1;
    this.#offers.set(this.#lastTicket, value);
    if (!this.#endsTurn) {
      // First: a time limit of `node:vm` can end JavaScript where a function begins.
      queueMicrotask(() => {
        this.#endsTurn = false;
        this.#offers.clear();
      });
      this.#endsTurn = true;
    }
    return this.#lastTicket;
  }

  /**
   * Call it when a request begins. By then, the answer to the previous request has been read if it ever will be.
   * @returns {number} an argument for `leave`
   */
  enter() {
    const served = this.#served;
    if (served !== NOTHING) {
      const [first, last] = served;
      for (let ticket = first + 1; ticket <= last && this.#offers.size > 0; ticket += 1) {
        this.#offers.delete(ticket);
      }
      this.#served = NOTHING;
    }
    return this.#lastTicket;
  }

  /**
   * Call it when the request is answered.
   * @param {number} entered
   */
  leave(entered) {
    if (this.#lastTicket > entered) {
      this.#served = [entered, this.#lastTicket];
    }
  }

  /**
   * @param {number} ticket
   * @param {number} note a callback's mode or a Reference's flags
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

  /** Whether no value is held, and none will be once the existing carriers are read. */
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

  /** Empties the slots that have no holder left. */
  sweep() {
    for (const slot of this.#disowned()) {
      this.#values[slot] = undefined;
      this.#free.push(slot);
    }
  }
}

/** @typedef {Owned} Table */

module.exports = { Owned };
