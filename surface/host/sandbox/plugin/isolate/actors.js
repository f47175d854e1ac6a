'use strict';
// The actors in a plugin: its executions, and each delivery of an event. Calls of the host that an actor causes, at once or later, count
// as its calls.

const { released } = require('../../../../core/error.js');
const { callCounter } = require('../../common/quota.js');
const { RecentlyUsed } = require('./recently-used.js');

/** Most actors that are remembered after they have ended, since some of their work may continue. */
const MAX_IDLE = 1_000;

class Actor {
  #count;
  /** the plugin's number for it */ number = 0;
  /** of the host, without those beyond the limit */ calls = 0;
  /** executions and deliveries in progress that count as this actor's */ underWay = 0;

  /** @param {number} limit of its calls */
  constructor(limit) {
    this.#count = callCounter(limit);
  }

  /** Counts a call of the host. Throws if it exceeds the limit. */
  count() {
    this.#count();
    this.calls += 1;
  }

  get isInUse() {
    return this.underWay > 0;
  }
}

class Actors {
  /** @type {import('./recently-used.js').RecentlyUsedTable<Actor>} */ #recent = new RecentlyUsed(MAX_IDLE);
  #limit;
  /** The actor whose call the host handles at this moment. @type {Actor | undefined} */ #calling = undefined;

  /** @param {number} limit of the calls of each */
  constructor(limit) {
    this.#limit = limit;
  }

  /** Creates the actor of a new execution. */
  add() {
    return this.#known(new Actor(this.#limit));
  }

  /** The actor of an event's delivery. An event that a plugin itself emits belongs to the actor that emits it; otherwise calls would be unlimited. */
  forEvent() {
    return this.#calling ?? this.add();
  }

  /** @param {Actor} actor */
  #known(actor) {
    actor.number = this.#recent.add(actor);
    return actor;
  }

  /**
   * Runs code of the host for an actor.
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
 * @property {() => void} count throws if a call exceeds the limit
 * @property {<R>(run: () => R) => R} during runs more code for it, also later
 */

/** @typedef {Actor} PluginActor */

module.exports = { Actors };
