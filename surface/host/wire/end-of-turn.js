'use strict';
// A time limit of `node:vm` ends JavaScript without `finally`. What code has changed for its own duration must be restored nevertheless: at the
// latest when all JavaScript of this turn of the event loop has ended.

const { queueMicrotask } = require('../clock.js');

class EndOfTurn {
  #restore;
  #isScheduled = false;

  /** @param {() => void} restore */
  constructor(restore) {
    this.#restore = restore;
  }

  /** Call it before each change. */
  expect() {
    if (this.#isScheduled) return;
    // First: a time limit can end JavaScript where a function begins.
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#restore();
    });
    this.#isScheduled = true;
  }
}

module.exports = { EndOfTurn };
