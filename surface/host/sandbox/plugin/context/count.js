'use strict';
// How many values a plugin passes to the host.

const { EVENT, Visitor } = require('../../../values/visit.js');

/** Counts the parts of a plugin's arguments as steps of work. */
class Count {
  #visitor;
  #work;

  /** @param {unknown[]} args @param {import('../../../work.js').WorkBudget} work */
  constructor(args, work) {
    this.#visitor = new Visitor(args, work, true);
    this.#work = work;
  }

  /** @param {boolean} isPausing whether to stop when the slice of work is over */
  run(isPausing) {
    while (this.#visitor.next() !== EVENT.END) {
      if (isPausing && this.#work.isSliceOver) return false;
    }
    return true;
  }
}

module.exports = { Count };
