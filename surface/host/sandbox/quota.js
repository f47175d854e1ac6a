'use strict';
// What one execution may give out and ask for: the size of its result, and the number of its calls of the host.

const { CODE, coded } = require('../../error.js');
const { Work } = require('../work.js');
const { abortedBy, DISPOSED } = require('./execution.js');
const { outputSize } = require('./size.js');

/**
 * Counts the calls of one execution.
 * @param {number} limit
 * @returns {() => void} throws for a call too many
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

/**
 * What ends an execution while its result is being measured.
 * @typedef {object} Ending
 * @property {any} signal from `readSignal`
 * @property {number} until when its time is over, as `performance.now()` has it
 * @property {() => boolean} isGone whether its sandbox has ended it
 */

/**
 * Why a result is not given out.
 * @typedef {object} Refusal
 * @property {string} value the message
 * @property {string} code
 * @property {string} name
 */

/**
 * @param {unknown} value
 * @param {number} limit bytes of JSON
 * @param {Ending} ending
 * @returns {Promise<Refusal | undefined>} undefined for a result that is given out
 */
async function refusalOf(value, limit, { signal, until, isGone }) {
  if (limit === Number.MAX_SAFE_INTEGER) {
    return undefined;
  }
  const stopped = () => (isGone() || signal?.aborted === true ? coded(Error, DISPOSED, CODE.DISPOSED) : undefined);
  try {
    const size = await outputSize(value, limit, new Work({ until, stopped }));
    const told = size === Infinity ? `more than ${limit}` : size;
    return size <= limit ? undefined : { value: `Result of ${told} bytes exceeds the maximum output size of ${limit} bytes`, code: CODE.LIMIT, name: 'RangeError' };
  } catch (error) {
    const { message, code } = /** @type {Error & { code: string }} */ (error);
    return { name: 'Error', ...(signal?.aborted && !isGone() ? abortedBy(signal) : { value: message, code }) };
  }
}

/**
 * The outcome of an execution, which has failed where its result is too large.
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

module.exports = { bounded, callCounter, refusalOf };
