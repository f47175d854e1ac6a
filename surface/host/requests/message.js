'use strict';
// A message of a guest that is read in pieces. It is loaded with the first message that is not small.

const { now } = require('../clock.js');
const { codec } = require('../values/codec.js');
const { TAG } = require('../../core/protocol.js');
const { Work } = require('../work.js');

/** @param {unknown} error */
const thrown = (error) => [TAG.THROWN, [TAG.VALUE, error]];

/**
 * Limits on the reading of an outcome.
 * @typedef {object} ReadLimits
 * @property {number} until the call's deadline, as a value of `now()` in clock.js
 * @property {() => Error | undefined} [stopped] returns an error when the call is over
 */

/** A message that is being read. */
class Message {
  /** The native side's number for it. */
  id = 0;
  /** Bytes of memory that the part read so far takes. */
  weight = 0;
  /** Whether reading was restarted. The message then waits until it is the oldest. */
  waits = false;
  /** Carriers that replace those of the values read so far. @type {any[][]} */
  #results = [];
  #wires;
  deliver;
  /** Why the remaining values are not read. @type {Error | undefined} */
  failure = undefined;
  #carriers;
  #work;
  /** Reads the next value. @type {InstanceType<typeof import('../wire/index.js').Reader> | undefined} */
  #reader = undefined;
  #hooks;
  #release;
  #drop;

  /**
   * @param {any[]} carriers
   * @param {any[][]} wires the carriers among them, and in their lists, that hold a serialized value
   * @param {{ hooks: import('../wire/leaf-reader.js').ReadHooks, release: (carriers: any[]) => void }} host
   * @param {() => void} deliver called when the message is read
   * @param {() => void} drop called when the message is abandoned
   * @param {ReadLimits} limits
   */
  constructor(carriers, wires, { hooks, release }, deliver, drop, { until, stopped }) {
    this.#carriers = carriers;
    this.#wires = wires;
    this.#work = new Work({ time: codec().FIXED_TIME, until, stopped: () => stopped?.() ?? this.failure });
    this.#hooks = hooks;
    this.#release = release;
    this.deliver = deliver;
    this.#drop = drop;
  }

  /** Abandons the message. */
  drop() {
    this.#release(this.#carriers);
    this.#drop();
  }

  /**
   * Continues reading.
   * @param {number} until the time at which to stop
   * @param {number} allowance bytes of memory at which to stop
   * @returns {boolean} whether all of it is read
   */
  read(until, allowance) {
    try {
      this.#work.resume();
      return this.#readOn(until, allowance);
    } catch (error) {
      // The call is over.
      while (this.#results.length < this.#wires.length) this.#fail(error);
      return this.#finish();
    } finally {
      this.#work.pause();
    }
  }

  /**
   * @param {number} until
   * @param {number} allowance
   */
  #readOn(until, allowance) {
    while (this.#results.length < this.#wires.length) {
      const [, bytes, table] = this.#wires[this.#results.length];
      try {
        this.#reader ??= new (codec().Reader)(/** @type {any} */ (bytes), table, this.#hooks, this.weight, this.#work);
        if (!this.#reader.readUntil(until, allowance)) {
          this.weight = this.#reader.weight;
          return false;
        }
        this.#results.push([TAG.VALUE, this.#reader.result]);
        this.weight = this.#reader.weight;
      } catch (error) {
        // Nothing refers to the part that was read.
        this.#fail(error);
      }
      this.#reader = undefined;
      if (now() >= until && this.#results.length < this.#wires.length) return false;
    }
    return this.#finish();
  }

  /**
   * The next value is not read.
   * @param {unknown} error why
   */
  #fail(error) {
    this.#release(this.#wires[this.#results.length][2]);
    this.#results.push(thrown(error));
  }

  #finish() {
    this.#wires.forEach((wire, index) => {
      // Reading does not restart any more, so the native side may use the memory again.
      codec().free(wire[1], wire[2]);
      wire.splice(0, Infinity, ...this.#results[index]);
    });
    return true;
  }

  /** Discards the part that was read. */
  restart() {
    this.#results = [];
    this.#reader = undefined;
    this.weight = 0;
    this.waits = true;
  }
}

module.exports = { Message };
