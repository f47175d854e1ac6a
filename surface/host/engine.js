'use strict';
// What hosts can ask of the engine as a whole, and tell it.

const { invalid } = require('../error.js');
const { optionsArgument } = require('../options.js');
const { checkOptions } = require('./sandbox/options.js');

/** Milliseconds: a guest that stops in less does not deserve to be given up, and nobody waits for more. */
const LEAST_GRACE = 10;
const MOST_GRACE = 600_000;

const MOST_LIMIT = 0x7fff_ffff;

const SETTINGS = Object.freeze(['terminationGrace', 'timeout', 'deadline']);

/** The native side leaves a setting as it is. */
const UNSAID = -1;

/**
 * @param {any} options
 * @param {string} key
 * @param {number} least
 * @param {number} most
 * @returns {number}
 */
function readSetting(options, key, least, most) {
  const value = options[key];
  if (value === undefined || value === null) {
    return UNSAID;
  }
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    throw invalid(`\`${key}\` must be a number of milliseconds from ${least} to ${most}`);
  }
  return value;
}

/**
 * @param {any} environment the native one
 * @returns {object}
 */
function createEngine(environment) {
  /** @param {any} options */
  function configureEngine(options) {
    const settings = checkOptions(optionsArgument(options, 1, 'configureEngine'), SETTINGS);
    const [terminationGrace, timeout, deadline] = environment.configure(
      readSetting(settings, 'terminationGrace', LEAST_GRACE, MOST_GRACE),
      readSetting(settings, 'timeout', 0, MOST_LIMIT),
      readSetting(settings, 'deadline', 0, MOST_LIMIT),
    );
    return { terminationGrace, timeout, deadline };
  }

  return {
    configureEngine,
    engineStats() {
      const [made, idle, spare, threads, lostThreads, lostRunning, lostBytes, disposed, collected, outOfMemory, environmentGone, givenUp] = environment.statistics();
      const endings = { disposed, collected, outOfMemory, environmentGone, givenUp };
      const all = disposed + collected + outOfMemory + environmentGone + givenUp;
      return { made, alive: made - all, idle, spare, ended: all, endings, threads, lostThreads, lostRunning, lostBytes };
    },
  };
}

module.exports = { createEngine };
