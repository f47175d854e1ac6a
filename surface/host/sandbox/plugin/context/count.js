'use strict';
// How many values a plugin emits to the listeners of an event.

const { CODE, coded } = require('../../../../core/error.js');
const { EVENT, ROLE, Visitor } = require('../../../values/visit.js');

/** Most values in the arguments of `emit` and `emitAsync`, which are written for the listeners in one piece. An object or array counts as two. */
const MAX_VALUES = 200_000;

/** Counts the values in a plugin's arguments. */
class Count {
  #args;
  #visitor;
  #work;
  #method;
  #left = MAX_VALUES;
  /** of the argument whose values are being counted, from 1 on */
  #position = 1;

  /**
   * @param {unknown[]} args
   * @param {string} method of the plugin's context
   * @param {import('../../../work.js').WorkBudget} work
   */
  constructor(args, method, work) {
    this.#args = args;
    this.#method = method;
    this.#work = work;
    this.#visitor = new Visitor(args, this, true);
  }

  /**
   * The visitor has visited a value, or left an object or array.
   * @param {number} [count]
   * @throws {RangeError} `ERR_ISOLATE_LIMIT` if there are more than MAX_VALUES, or an error of the budget
   */
  spend(count = 1) {
    this.#left -= count;
    if (this.#left < 0) {
      throw coded(/** @type {ErrorConstructor} */ (RangeError), `Argument ${this.#position} of \`${this.#method}\` is too large: the limit is ${MAX_VALUES} values in all arguments together, where an object or array counts as two. Emit less at once`, CODE.LIMIT);
    }
    this.#work.spend(count);
  }

  /** @param {boolean} isPausing whether to stop when the slice of work is over */
  run(isPausing) {
    const visitor = this.#visitor;
    for (let event = visitor.next(); event !== EVENT.END; event = visitor.next()) {
      if (event !== EVENT.LEAVE && visitor.role === ROLE.ELEMENT && visitor.parent === this.#args) this.#position = visitor.key + 1;
      if (isPausing && this.#work.isSliceOver) return false;
    }
    return true;
  }
}

module.exports = { Count };
