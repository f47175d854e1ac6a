'use strict';
// What an execution waits for before its code runs. The limits of the execution apply to that, too.

const { clearTimeout, now, setTimeout } = require('../../clock.js');
const { CODE, coded } = require('../../../core/error.js');

/** The longest time of a timer. */
const MAX_TIME = 0x7fff_ffff;

/**
 * Remaining milliseconds of an execution, at least 1.
 * @param {number} until when its deadline is over, as a value of `now()` in clock.js
 */
const leftUntil = (until) => Math.max(Math.ceil(until - now()), 1);

/**
 * Waits for a promise, but no longer than the execution may take.
 * @template T
 * @param {Promise<T>} promise
 * @param {number} until Infinity for no limit
 * @param {any} signal from `readSignal`
 * @returns {Promise<T>} rejects with `ERR_ISOLATE_DEADLINE` after `until`, and with the signal's reason when it is aborted
 */
async function withinLimits(promise, until, signal) {
  /** @type {() => void} */
  let stopFollowing = () => {};
  /** @type {any} */
  let timer;
  /** @type {Promise<never>} */
  const ended = new Promise((_, reject) => {
    timer = until === Infinity ? undefined
      : setTimeout(() => reject(coded(Error, 'Execution exceeded its deadline', CODE.DEADLINE)), Math.min(leftUntil(until), MAX_TIME));
    stopFollowing = signal?.follow(() => reject(signal.reason)) ?? stopFollowing;
  });
  try {
    return await Promise.race([promise, ended]);
  } finally {
    clearTimeout(timer);
    stopFollowing();
  }
}

module.exports = { leftUntil, withinLimits };
