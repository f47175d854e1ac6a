'use strict';
// Settings and statistics of the engine as a whole.

const { invalid } = require('../error.js');
const { optionsArgument } = require('../options.js');
const { checkOptions } = require('./sandbox/options.js');

/** Milliseconds. A shorter grace period would abandon guests that do stop; a longer one has no use. */
const MIN_GRACE = 10;
const MAX_GRACE = 600_000;

const MAX_LIMIT = 0x7fff_ffff;

/** Megabytes. */
const MIN_LOST_MEMORY = 16;
const MAX_LOST_MEMORY = 2 ** 30;
const MEGABYTE = 2 ** 20;

const SETTINGS = Object.freeze(['terminationGrace', 'timeout', 'deadline', 'lostMemoryLimit']);

/** Tells the native side to leave a setting unchanged. */
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
