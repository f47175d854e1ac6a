'use strict';
// The contexts that a plugin may still know: each execution brings one. Those whose execution has ended are kept as long as they
// have listeners, and otherwise for a while: what of the plugin refers to them only its garbage collector could tell.

const { released } = require('../../error.js');

/** Contexts that nobody needs for certain. */
const MOST_IDLE = 256;

/** @typedef {import('./gate.js').PluginGate} Gate */

class Gates {
  /** @type {Map<number, Gate>} the one that was used last is the last */ #all = new Map();
  #last = 0;

  /**
   * @param {Gate} gate
   * @returns {number}
   */
  add(gate) {
    this.#last += 1;
    this.#all.set(this.#last, gate);
    this.#forgetIdle();
    return this.#last;
  }

  /**
   * @param {any} number
   * @returns {Gate}
   */
  use(number) {
    const gate = this.#all.get(number);
    if (gate === undefined) {
      throw released('This context belongs to an execution that has ended long ago');
    }
    this.#all.delete(number);
    this.#all.set(number, gate);
    return gate;
  }

  #forgetIdle() {
    let excess = this.#all.size - MOST_IDLE;
    for (const [number, gate] of this.#all) {
      if (excess <= 0) {
        return;
      }
      if (!gate.isInUse) {
        this.#all.delete(number);
        excess -= 1;
      }
    }
  }
}

module.exports = { Gates };
