'use strict';
// Processes in slices what a guest sent to a function of the host. The event loop turns between the slices. The guest gets its answer
// afterwards. Later messages from the same isolate wait, so that their order is kept.

const { Work } = require('../../../work.js');

/** The call that needs the work has been stopped. */
const UNWANTED = new Error('The call was stopped');

/**
 * @typedef {object} Task
 * @property {(isPausing: boolean) => boolean} run continues, until the slice is over if `isPausing`; returns whether it is done
 */

/** @typedef {ReturnType<typeof createInTurns>} InTurns */

/** @param {{ defer?: () => import('../../../requests/arrivals.js').Deferral | undefined }} binding */
function createInTurns({ defer }) {
  /**
   * Performs a task for the call that is being served.
   * @template {Task} T
   * @param {import('../../../work.js').WorkLimits} limits
   * @param {(work: InstanceType<typeof Work>) => T} begin
   * @returns {T | Promise<T>} the task when it is done, or a promise for it if it takes longer than a slice; the promise never settles once
   *   the call no longer waits for the answer
   */
  return function inTurns(limits, begin) {
    /** @type {{ deferral: import('../../../requests/arrivals.js').Deferral | undefined }} */
    const call = { deferral: undefined };
    const stopped = () => (call.deferral === undefined || call.deferral.isWanted ? undefined : UNWANTED);
    const work = new Work({ ...limits, stopped });
    const task = begin(work);
    if (task.run(true)) {
      return task;
    }
    call.deferral = defer?.();
    if (call.deferral === undefined) {
      task.run(false);
      return task;
    }
    return finish(task, work, call.deferral);
  };
}

/**
 * @template {Task} T
 * @param {T} task
 * @param {InstanceType<typeof Work>} work
 * @param {import('../../../requests/arrivals.js').Deferral} deferral
 * @returns {Promise<T>}
 */
async function finish(task, work, deferral) {
  try {
    do {
      await work.turn();
    } while (!task.run(true));
  } catch (error) {
    if (error === UNWANTED) {
      return await new Promise(() => {});
    }
    throw error;
  } finally {
    deferral.release();
  }
  return task;
}

module.exports = { createInTurns };
