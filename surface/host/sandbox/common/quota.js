'use strict';
// Quotas. An execution has one for the size of its result, and one for the number of its calls of the host. A plugin has one for the arguments
// of calls that its host has not finished.

const { MESSAGE } = require('../../../core/protocol.js');
const { CODE, coded } = require('../../../core/error.js');
const { MIN_WEIGHT, treeBytes } = require('../../wire/notes.js');
const { DISPOSED } = require('./execution.js');

/**
 * Counts the calls of one execution.
 * @param {number} limit
 * @returns {() => void} throws if a call exceeds the limit
 */
function callCounter(limit) {
  let calls = 0;
  return () => {
    if (calls >= limit) {
      throw new Error(`The maximum of ${limit} API calls is exceeded`);
    }
    calls += 1;
  };
}

const MEGABYTE = 2 ** 20;
/** Bytes of the arguments that a plugin's host may hold at a time, per byte of the plugin's memory, and bounds of that: as for one value. */
const ARGUMENTS_PER_BYTE = 4;
const MIN_ARGUMENTS = 64 * MEGABYTE;
const MAX_ARGUMENTS = 512 * MEGABYTE;
/** Most such calls. The bytes of small arguments do not count. A guest can wait for as many, but need not wait. */
const MAX_CALLS = 10_000;

/** The arguments of calls whose promises have not settled. The functions of the host may keep them until then. Functions that they return may, too. */
class ArgumentBudget {
  #calls = 0;
  #bytes = 0;
  /** Functions that calls have returned, the oldest first. @type {Set<KeptFunction>} */ #functions = new Set();
  #bytesOfFunctions = 0;
  #max;

  /** @param {number} memoryLimit megabytes */
  constructor(memoryLimit) {
    this.#max = Math.min(Math.max(memoryLimit * MEGABYTE * ARGUMENTS_PER_BYTE, MIN_ARGUMENTS), MAX_ARGUMENTS);
  }

  /**
   * @param {number} bytes of the arguments of a call that begins
   * @throws {RangeError} if they, or the calls, are too many
   */
  check(bytes) {
    if (this.#calls >= MAX_CALLS || this.#bytes + bytes > this.#max) {
      throw coded(/** @type {ErrorConstructor} */ (RangeError), MESSAGE.TOO_MANY_CALLS, CODE.LIMIT);
    }
  }

  /**
   * Counts the arguments of a call until its promise settles.
   * @param {number} bytes
   * @param {Promise<unknown>} promise
   */
  take(bytes, promise) {
    this.#calls += 1;
    this.#bytes += bytes;
    const end = () => {
      this.#calls -= 1;
      this.#bytes -= bytes;
    };
    promise.then(end, end);
  }

  /**
   * Counts the arguments of a call that returned a function for the plugin, until `drop`.
   * @param {number} bytes of the arguments; small ones count, too
   * @param {() => void} forget called when the arguments of later calls leave no room for them
   * @returns {KeptFunction}
   */
  keep(bytes, forget) {
    const kept = { bytes: Math.max(bytes, MIN_WEIGHT), forget };
    this.#functions.add(kept);
    this.#bytesOfFunctions += kept.bytes;
    for (const oldest of this.#functions) {
      if (this.#bytesOfFunctions <= this.#max) {
        break;
      }
      this.drop(oldest);
      oldest.forget();
    }
    return kept;
  }

  /**
   * The plugin can no longer call a function that `keep` has counted.
   * @param {KeptFunction} kept
   */
  drop(kept) {
    if (this.#functions.delete(kept)) {
      this.#bytesOfFunctions -= kept.bytes;
    }
  }
}

/** @typedef {ArgumentBudget} PluginArguments */
/** @typedef {{ bytes: number, forget: () => void }} KeptFunction */

/**
 * Conditions that end an execution while its result is measured.
 * @typedef {object} Ending
 * @property {any} signal from `readSignal`
 * @property {number} until when its time is over, as a value of `now()` in clock.js
 * @property {() => boolean} isGone whether its sandbox has ended it
 */

/**
 * Why a result is not returned.
 * @typedef {object} Refusal
 * @property {string} value the message
 * @property {string} code
 * @property {string} name
 */

/** Most bytes of JSON for each byte of the wire format: errors have more fields than bytes. */
const MAX_JSON_PER_BYTE = 16;
/** The JSON of a number has up to 24 bytes. */
const BYTES_OF_NUMBER = 2;

/**
 * @param {any} value that has just been read
 * @returns {number} most bytes that it was read from, Infinity if that is not known
 */
function bytesOf(value) {
  switch (typeof value) {
    case 'string': return value.length;
    case 'object': return value === null ? BYTES_OF_NUMBER : treeBytes(value);
    case 'bigint': return Infinity;
    default: return BYTES_OF_NUMBER;
  }
}

/**
 * @param {unknown} value
 * @param {number} limit bytes of JSON
 * @param {Ending} ending
 * @returns {Promise<Refusal | undefined>} undefined if the result is returned
 */
async function refusalOf(value, limit, { signal, until, isGone }) {
  // What is small is not measured.
  if (limit === Number.MAX_SAFE_INTEGER || bytesOf(value) * MAX_JSON_PER_BYTE <= limit) {
    return undefined;
  }
  const stopped = () => (isGone() || signal?.aborted === true ? coded(Error, DISPOSED, CODE.DISPOSED) : undefined);
  try {
    const { outputSize } = require('./size.js');
    const { Work } = require('../../work.js');
    const size = await outputSize(value, limit, new Work({ until, stopped }));
    const shown = size === Infinity ? `more than ${limit}` : size;
    return size <= limit ? undefined : { value: `Result of ${shown} bytes exceeds the maximum output size of ${limit} bytes`, code: CODE.LIMIT, name: 'RangeError' };
  } catch (error) {
    const { message, code } = /** @type {Error & { code: string }} */ (error);
    return { name: 'Error', ...(signal?.aborted && !isGone() ? require('./refusals.js').abortedBy(signal) : { value: message, code }) };
  }
}

/**
 * The outcome of an execution, or a failure if its result is too large.
 * @template {import('./execution.js').Outcome} O
 * @param {O} outcome
 * @param {number} limit bytes of JSON
 * @param {Ending} ending
 * @returns {Promise<O>}
 */
async function bounded(outcome, limit, ending) {
  const refusal = outcome.ok ? await refusalOf(outcome.value, limit, ending) : undefined;
  return refusal === undefined ? outcome : { ...outcome, ok: false, ...refusal };
}

module.exports = { bounded, callCounter, ArgumentBudget, refusalOf };
