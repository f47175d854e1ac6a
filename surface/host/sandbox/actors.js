'use strict';
// Who acts in a plugin: its executions, and each delivery of an event. Whatever they go on with, at once or later, are their calls of the
// host, and count as such.

const { released } = require('../../error.js');
const { callCounter } = require('./quota.js');
const { Recent } = require('./recent.js');

/** Those that are over, of which something may still be going on. */
const MAX_IDLE = 1_000;

class Actor {
  #count;
  /** what the plugin knows it by */ number = 0;
  /** of the host, those that were too many not included */ calls = 0;
  /** executions and deliveries under way that count as this one's */ underWay = 0;

  /** @param {number} limit of its calls */
  constructor(limit) {
    this.#count = callCounter(limit);
  }

  /** Calls the host; throws where that is once too often. */
  count() {
    this.#count();
    this.calls += 1;
  }

  get isInUse() {
    return this.underWay > 0;
  }
}

class Actors {
  /** @type {import('./recent.js').RecentOnes<Actor>} */ #recent = new Recent(MAX_IDLE);
  #limit;
  /** The one on whose call the host does something at this moment. @type {Actor | undefined} */ #calling = undefined;

  /** @param {number} limit of the calls of each */
  constructor(limit) {
    this.#limit = limit;
  }

  /** An execution is to begin. */
  add() {
    return this.#known(new Actor(this.#limit));
  }

  /** An event is to be delivered. What a plugin emits itself is part of what emits it, or it would have calls without end. */
  forEvent() {
    return this.#calling ?? this.add();
  }

  /** @param {Actor} actor */
  #known(actor) {
    actor.number = this.#recent.add(actor);
    return actor;
  }

  /**
   * Runs something of the host's for an actor.
   * @template R
   * @param {unknown} number
   * @param {(caller: Caller) => R} run
   * @returns {R}
   */
  calls(number, run) {
    const actor = this.#recent.use(number);
    if (actor === undefined && this.#limit !== Number.MAX_SAFE_INTEGER) {
      throw released('An execution that has ended long ago cannot call its host any more');
    }
    /** @type {Caller} */
    const caller = { count: () => actor?.count(), during: (more) => this.#during(actor, more) };
    return caller.during(() => run(caller));
  }

  /**
   * @template R
   * @param {Actor | undefined} actor
   * @param {() => R} run
   * @returns {R}
   */
  #during(actor, run) {
    const outer = this.#calling;
    this.#calling = actor;
    try {
      return run();
    } finally {
      this.#calling = outer;
    }
  }
}

/**
 * The actor of one call.
 * @typedef {object} Caller
 * @property {() => void} count throws for a call too many
 * @property {<R>(run: () => R) => R} during runs more for it, also later
 */

/** @typedef {Actor} PluginActor */

module.exports = { Actors };
