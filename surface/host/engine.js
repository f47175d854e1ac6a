'use strict';
// Settings and statistics of the engine as a whole.

const { coded, invalid } = require('../core/error.js');
const { optionsArgument } = require('../core/options.js');
const { CODE } = require('../core/protocol.js');
const { SETTING, STATISTIC } = require('./protocol.js');
const { checkOptions } = require('./sandbox/common/options.js');

/** Milliseconds. A shorter grace period would abandon guests that do stop; a longer one has no use. */
const MIN_GRACE = 10;
const MAX_GRACE = 600_000;

const MAX_LIMIT = 0x7fff_ffff;

/** Megabytes. */
const MIN_LOST_MEMORY = 16;
const MAX_LOST_MEMORY = 2 ** 30;
const MEGABYTE = 2 ** 20;

const SETTINGS = Object.freeze(['terminationGrace', 'timeout', 'deadline', 'lostMemoryLimit', 'syncCalls', 'codeCache']);

/** Values of `syncCalls`, at the numbers that the native side uses. */
const SYNC_CALLS = Object.freeze(['thread', 'caller']);

/** Tells the native side to leave a setting unchanged. */
const UNSET = -1;

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
    return UNSET;
  }
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    throw invalid(`\`${key}\` must be a number of ${unit} from ${least} to ${most}`);
  }
  return value;
}

/** @param {unknown} value */
function readSyncCalls(value) {
  if (value === undefined || value === null) {
    return UNSET;
  }
  const number = SYNC_CALLS.indexOf(/** @type {string} */ (value));
  if (number === -1) {
    throw invalid('`syncCalls` must be "thread" or "caller"');
  }
  return number;
}

/** @param {unknown} value */
function readCodeCache(value) {
  if (value === undefined || value === null) {
    return UNSET;
  }
  if (typeof value !== 'boolean') {
    throw invalid('`codeCache` must be a boolean');
  }
  return Number(value);
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
    /** @type {number[]} */
    const changes = [];
    changes[SETTING.TERMINATION_GRACE] = readSetting(settings, 'terminationGrace', MIN_GRACE, MAX_GRACE);
    changes[SETTING.TIMEOUT] = readSetting(settings, 'timeout', 0, MAX_LIMIT);
    changes[SETTING.DEADLINE] = readSetting(settings, 'deadline', 0, MAX_LIMIT);
    changes[SETTING.LOST_MEMORY_LIMIT] = lost === UNSET ? UNSET : lost * MEGABYTE;
    const syncCalls = readSyncCalls(settings?.syncCalls);
    changes[SETTING.SYNC_ON_CALLER] = syncCalls;
    changes[SETTING.CODE_CACHE] = readCodeCache(settings?.codeCache);
    if (SYNC_CALLS[syncCalls] === 'caller' && !environment.configure()) {
      throw coded(Error, '`syncCalls: "caller"` is not available on this platform', CODE.UNSUPPORTED);
    }
    const current = environment.configure(...changes);
    return {
      terminationGrace: current[SETTING.TERMINATION_GRACE],
      timeout: current[SETTING.TIMEOUT],
      deadline: current[SETTING.DEADLINE],
      lostMemoryLimit: current[SETTING.LOST_MEMORY_LIMIT] / MEGABYTE,
      syncCalls: SYNC_CALLS[current[SETTING.SYNC_ON_CALLER]],
      codeCache: current[SETTING.CODE_CACHE] === 1,
    };
  }

  return {
    configureEngine,
    engineStats() {
      const figures = environment.statistics();
      const endings = {
        disposed: figures[STATISTIC.DISPOSED],
        collected: figures[STATISTIC.COLLECTED],
        outOfMemory: figures[STATISTIC.OUT_OF_MEMORY],
        environmentGone: figures[STATISTIC.ENVIRONMENT_GONE],
        abandoned: figures[STATISTIC.ABANDONED],
      };
      const ended = Object.values(endings).reduce((sum, count) => sum + count, 0);
      return {
        made: figures[STATISTIC.MADE],
        alive: figures[STATISTIC.MADE] - ended,
        idle: figures[STATISTIC.IDLE],
        warm: figures[STATISTIC.WARM],
        ended,
        endings,
        threads: figures[STATISTIC.THREADS],
        lostThreads: figures[STATISTIC.LOST_THREADS],
        lostRunning: figures[STATISTIC.LOST_RUNNING],
        lostBytes: figures[STATISTIC.LOST_BYTES],
        codeCacheBytes: figures[STATISTIC.CODE_CACHE_BYTES],
        codeCacheHits: figures[STATISTIC.CODE_CACHE_HITS],
      };
    },
  };
}

module.exports = { createEngine };
