'use strict';
// A plugin's listeners on its host's event bus. The bus holds functions of this file. The plugin's own functions have numbers, and are
// called inside the isolate.

const { adopt, discard, isThenable, ORIGIN, report } = require('../../../calls/host-calls.js');
const { member } = require('../../common/options.js');

/** Most listeners of one plugin at a time. */
const MAX_LISTENERS = 1_000;

/**
 * @typedef {object} Listener
 * @property {any} bus
 * @property {string} event
 * @property {(...args: unknown[]) => unknown} receive
 */

class Listeners {
  /** @type {Map<number, Listener>} */ #all = new Map();
  #deliver;
  isClosed = false;

  /** @param {(id: number, event: string, args: unknown[], bus: unknown, listener: object) => Promise<void>} deliver never rejects */
  constructor(deliver) {
    this.#deliver = deliver;
  }

  /** @param {number} id */
  has(id) {
    return this.#all.has(id);
  }

  get isFull() {
    return this.isClosed || this.#all.size >= MAX_LISTENERS;
  }

  /**
   * @param {any} bus
   * @param {string} event
   * @param {number} id
   * @param {boolean} once
   */
  add(bus, event, id, once) {
    /** @param {unknown[]} args */
    const receive = (...args) => {
      if (once ? !this.#all.delete(id) : !this.#all.has(id)) {
        return undefined;
      }
      return this.#deliver(id, event, args, bus, receive);
    };
    const isNative = once && typeof member(bus, 'once') === 'function';
    this.#all.set(id, { bus, event, receive: once && !isNative ? this.#leaving(id, receive) : receive });
    const { receive: listener } = /** @type {Listener} */ (this.#all.get(id));
    try {
      settle(isNative ? bus.once(event, listener) : bus.on(event, listener));
    } catch (error) {
      this.#all.delete(id);
      throw error;
    }
  }

  /**
   * For a bus without `once`.
   * @param {number} id
   * @param {(...args: unknown[]) => unknown} receive
   */
  #leaving(id, receive) {
    /** @param {unknown[]} args */
    return (...args) => {
      const listener = this.#all.get(id);
      if (listener === undefined) {
        return undefined;
      }
      leave(listener);
      return receive(...args);
    };
  }

  /**
   * @param {number} id
   * @param {string} event
   * @returns {boolean} whether there was such a listener
   */
  remove(id, event) {
    const listener = this.#all.get(id);
    if (listener === undefined || listener.event !== event) {
      return false;
    }
    this.#all.delete(id);
    leave(listener);
    return true;
  }

  /**
   * @param {string} [event] of any event by default
   * @returns {number[]}
   */
  removeAll(event) {
    return [...this.#all].filter(([id, listener]) => (event === undefined || listener.event === event) && this.remove(id, listener.event))
      .map(([id]) => id);
  }

  /** Ends all delivery to the plugin. */
  close() {
    this.isClosed = true;
    this.removeAll();
  }
}

/** @param {Listener} listener */
function leave({ bus, event, receive }) {
  try {
    const name = ['off', 'removeListener'].find((each) => typeof member(bus, each) === 'function');
    settle(name === undefined ? undefined : bus[name](event, receive));
  } catch (error) {
    // A function that the bus still calls finds no listener here.
    report(ORIGIN.EVENT_BUS, error);
  }
}

/**
 * A bus may be asynchronous. Its promises are not awaited.
 * @param {any} result
 */
function settle(result) {
  discard(ORIGIN.EVENT_BUS, isThenable(result) ? adopt(result) : result);
}

/** @typedef {Listeners} PluginListeners */

module.exports = { Listeners };
