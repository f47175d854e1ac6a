'use strict';
// A budget for the work that a guest's data causes on the host's thread. Each call has its own.

const { now, setImmediate } = require('./clock.js');
const { CODE, coded } = require('../core/error.js');
const { hasOwn, inner } = require('../core/primordials.js');

/** Milliseconds of work before the event loop gets a turn. */
const SLICE = 16;
/** Most milliseconds that count between two checks of the clock. A process that was suspended in between did no work. */
const MAX_COUNTED = 50;
/** Most steps between two checks of the clock. */
const MAX_STRIDE = 512;
/** Milliseconds between two checks of the clock. A stride that takes longer is followed by fewer steps, one that takes less by more. */
const LONG_STRIDE = 4;
const SHORT_STRIDE = 1;

/** When work began in this turn of the event loop. All budgets share the turn's slice. @type {number | undefined} */
let sliceStart;

function endSlice() {
  sliceStart = undefined;
}

/** Work that waits for a slice, longest wait first. No work gets two slices before each of the others got one. @type {(() => void)[]} */
const waiting = [];
let isPostponed = false;

/** Starts the next work, unless this turn is used up. In that case, it starts on the next turn without fail. */
function serveNext() {
  const isOver = sliceStart !== undefined && now() - sliceStart >= SLICE;
  if (isOver && !isPostponed) {
    isPostponed = true;
  } else {
    isPostponed = false;
    sliceStart = isOver ? undefined : sliceStart;
    waiting.shift()?.();
  }
  if (waiting.length > 0) {
    setImmediate(serveNext);
  }
}

/** @param {number} time now */
function startOfSlice(time) {
  if (sliceStart === undefined) {
    sliceStart = time;
    setImmediate(endSlice);
  }
  return sliceStart;
}

/** @param {string} limit */
const exceeded = (limit) => coded(/** @type {ErrorConstructor} */ (RangeError), `Value takes too much work: the limit is ${limit}`, CODE.LIMIT);

/**
 * @typedef {object} WorkLimits
 * @property {number} [steps] in all; no limit by default
 * @property {number} [time] milliseconds that the work itself may take on this thread, over all slices; no limit by default
 * @property {number} [until] the call's deadline, as a value of `now()` in clock.js; none by default
 * @property {() => Error | undefined} [stopped] returns an error when the call is over: aborted, disposed or terminated
 */

/**
 * A limit that is the object's own: what a polluted `Object.prototype` has is none.
 * @template {keyof WorkLimits} N
 * @param {WorkLimits} limits
 * @param {N} name
 * @returns {WorkLimits[N]}
 */
const limitOf = (limits, name) => (hasOwn(limits, name) ? limits[name] : undefined);

/** @type {WorkLimits} */
const UNLIMITED = Object.freeze({});

class Work {
  #steps;
  #stepsLeft;
  #time;
  #until;
  #stopped;
  /** Milliseconds of work so far. */
  #spent = 0;
  #sliceStart;
  #isSliceOver = false;
  #lastLook;
  #stride = MAX_STRIDE;
  /** Steps that were granted at the last check of the clock, and how many of them are left. */
  #granted;
  #ahead;

  /** @param {WorkLimits} [limits] */
  constructor(limits = UNLIMITED) {
    const steps = limitOf(limits, 'steps') ?? Infinity;
    this.#steps = steps;
    this.#stepsLeft = steps;
    this.#time = limitOf(limits, 'time') ?? Infinity;
    this.#until = limitOf(limits, 'until') ?? Infinity;
    this.#stopped = limitOf(limits, 'stopped');
    this.#granted = Math.min(MAX_STRIDE, steps);
    this.#ahead = this.#granted;
    this.#lastLook = now();
    this.#sliceStart = startOfSlice(this.#lastLook);
  }

  /**
   * Counts steps of work.
   * @param {number} [steps]
   * @throws {Error} `ERR_ISOLATE_LIMIT` when the steps or the time are used up, `ERR_ISOLATE_DEADLINE` after `until`, or the error of `stopped()`
   */
  spend(steps = 1) {
    this.#ahead -= steps;
    if (this.#ahead < 0) {
      this.check();
    }
  }

  /**
   * Checks the clock. Throws as `spend` does.
   * @returns {number} the current value of `now()` in clock.js
   */
  check() {
    this.#stepsLeft -= this.#granted - this.#ahead;
    const time = now();
    const sinceLook = this.#count(time);
    if (sinceLook > LONG_STRIDE) {
      this.#stride = Math.max(1, Math.floor((this.#stride * LONG_STRIDE) / sinceLook));
    } else if (sinceLook < SHORT_STRIDE) {
      this.#stride = Math.min(MAX_STRIDE, this.#stride * 2);
    }
    this.#granted = Math.min(this.#stride, this.#stepsLeft);
    this.#ahead = this.#granted;
    this.#isSliceOver = time - this.#sliceStart >= SLICE;
    this.#throwIfOver(time);
    if (this.#stepsLeft < 0) {
      throw exceeded(`${this.#steps} steps`);
    }
    return time;
  }

  /**
   * @param {number} time
   * @returns {number} milliseconds since the last check of the clock
   */
  #count(time) {
    const sinceLook = time - this.#lastLook;
    this.#lastLook = time;
    this.#spent += Math.min(sinceLook, MAX_COUNTED);
    return sinceLook;
  }

  /** @param {number} time */
  #throwIfOver(time) {
    const error = this.#stopped?.();
    if (error !== undefined) {
      throw error;
    }
    if (time >= this.#until) {
      throw coded(Error, 'Execution exceeded its deadline', CODE.DEADLINE);
    }
    if (this.#spent >= this.#time) {
      throw exceeded(`${Math.round(this.#time)} ms`);
    }
  }

  /**
   * Allows more time: for work whose limit depends on the size of the data.
   * @param {number} milliseconds
   */
  extend(milliseconds) {
    this.#time += milliseconds;
  }

  /** Steps until the next check of the clock, for a caller that counts them itself and calls `check`. */
  get stride() {
    return this.#stride;
  }

  /**
   * Whether this slice was over at the last check of the clock. All budgets of a turn of the event loop share the slice. If it is over, a caller
   * that can wait should `await turn()`.
   */
  get isSliceOver() {
    return this.#isSliceOver;
  }

  /** Ends this slice: the time until `resume` is not counted. */
  pause() {
    this.#count(now());
  }

  /** Begins a new slice. Throws as `spend` does. */
  resume() {
    this.#lastLook = now();
    this.#sliceStart = startOfSlice(this.#lastLook);
    this.#isSliceOver = this.#lastLook - this.#sliceStart >= SLICE;
    this.#throwIfOver(this.#lastLook);
  }

  /** Gives the event loop a turn and begins a new slice. Throws as `spend` does. */
  async turn() {
    this.pause();
    await inner(new Promise((resolve) => {
      waiting.push(() => resolve(undefined));
      if (waiting.length === 1) {
        setImmediate(serveNext);
      }
    }));
    this.resume();
  }
}

/** @typedef {Work} WorkBudget */

module.exports = { Work };
