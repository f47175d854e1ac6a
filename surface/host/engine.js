'use strict';
// What hosts can ask of the engine as a whole, and tell it.

const { invalid } = require('../error.js');
const { optionsArgument } = require('../options.js');
const { checkOptions } = require('./sandbox/options.js');

/** Milliseconds: a guest that stops in less does not deserve to be given up, and nobody waits for more. */
const MIN_GRACE = 10;
const MAX_GRACE = 600_000;

const MAX_LIMIT = 0x7fff_ffff;

/** Megabytes. */
const MIN_LOST_MEMORY = 16;
const MAX_LOST_MEMORY = 2 ** 30;
const MEGABYTE = 2 ** 20;

const SETTINGS = Object.freeze(['terminationGrace', 'timeout', 'deadline', 'lostMemoryLimit']);

/** The native side leaves a setting as it is. */
const UNSAID = -1;

/**
 * @param {any} options
 * @param {string} key
 * @param {number} least
 * @param {number} most
 * @param {string} unit
 * @returns {number}
 */
function readSetting(options, key, least, most, unit = 'milliseconds') {
  const value = options[key];
  if (value === undefined || value === null) {
    return UNSAID;
  }
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    throw invalid(`\`${key}\` must be a number of ${unit} from ${least} to ${most}`);
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
    const lost = readSetting(settings, 'lostMemoryLimit', MIN_LOST_MEMORY, MAX_LOST_MEMORY, 'megabytes');
    const [terminationGrace, timeout, deadline, lostMemoryLimit] = environment.configure(
      readSetting(settings, 'terminationGrace', MIN_GRACE, MAX_GRACE),
      readSetting(settings, 'timeout', 0, MAX_LIMIT),
      readSetting(settings, 'deadline', 0, MAX_LIMIT),
      lost === UNSAID ? UNSAID : lost * MEGABYTE,
    );
    return { terminationGrace, timeout, deadline, lostMemoryLimit: lostMemoryLimit / MEGABYTE };
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
