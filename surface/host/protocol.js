'use strict';
// What only hosts exchange with the native side. build.rs generates the native side's constants from this file.

const { freeze } = Object;

/** Flags of an execution in a sandbox, as bits. */
const FLAG = freeze({
  SHADOW_GLOBAL: 1,
  TIMERS: 2,
  MARKED_LOGS: 4,
});

/** The levels of a sandbox's console. */
const LEVELS = freeze([
  'log', 'info', 'warn', 'error', 'debug',
]);

/** Elements of `statistics()`. */
const STATISTIC = freeze({
  MADE: 0,
  IDLE: 1,
  WARM: 2,
  THREADS: 3,
  LOST_THREADS: 4,
  LOST_RUNNING: 5,
  LOST_BYTES: 6,
  // Isolates by how they ended.
  DISPOSED: 7,
  COLLECTED: 8,
  OUT_OF_MEMORY: 9,
  ENVIRONMENT_GONE: 10,
  GIVEN_UP: 11,
});

/** Arguments of `configure()`, and elements of its result. */
const SETTING = freeze({
  TERMINATION_GRACE: 0,
  TIMEOUT: 1,
  DEADLINE: 2,
  LOST_MEMORY_LIMIT: 3,
});

/** Elements of `meter()`. */
const METER = freeze({
  CPU: 0,
  HEAP_PEAK: 1,
});

/** Elements of `limits()`. */
const LIMIT = freeze({
  LEFT: 0,
  TIMEOUT: 1,
});

/** Results of `wanted()`. */
const WANTED = freeze({
  /** It was dropped and must not be resumed. */
  NO: 0,
  YES: 1,
  /** It must fail: the host has disposed of its isolate. */
  DISPOSED: 2,
});

module.exports = freeze({ FLAG, LEVELS, LIMIT, METER, SETTING, STATISTIC, WANTED });
