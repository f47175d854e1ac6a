'use strict';
// A time limit of `node:vm` ends JavaScript without `finally`. What code has changed for its own duration must be restored nevertheless: at the
// latest when all JavaScript of this turn of the event loop has ended.

const { queueMicrotask } = require('../clock.js');

/** Hooks of a host that run when a microtask is scheduled may call what schedules it, and again, before it is. */
const MAX_NESTED = 3;

class EndOfTurn {
  #restore;
  #isScheduled = false;
  #nested = 0;

  /** @param {() => void} restore */
  constructor(restore) {
    this.#restore = restore;
  }

  /** Call it before each change. */
  expect() {
    if (this.#isScheduled) return;
    this.#nested += 1;
    if (this.#nested > MAX_NESTED) {
      this.#nested = 0;
      return;
    }
    // First: a time limit can end JavaScript where a function begins.
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#restore();
    });
    this.#isScheduled = true;
    this.#nested = 0;
  }
}

module.exports = { EndOfTurn };
