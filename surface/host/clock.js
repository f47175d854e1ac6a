'use strict';
// The host's clock and timers, captured when the package is loaded. A program may replace the methods of `process` and `node:timers` at any
// time, for example with a test's fake timers. Times of the host's clock and of a fake one must never be compared. The clock is not
// `performance`, because Node loads a dozen files for that.

const { clearTimeout, setImmediate, setTimeout } = require('node:timers');
const { bigint } = process.hrtime;

const { queueMicrotask } = globalThis;

const NANOSECONDS = 1e6;

/** @returns {number} milliseconds from a point in the past that is the same for all callers */
const now = () => Number(bigint()) / NANOSECONDS;

/**
 * Remaining milliseconds of a time limit, at least 1.
 * @param {number} timeout
 * @param {number} since when it began
 */
const leftOf = (timeout, since) => Math.max(timeout - (now() - since), 1);

module.exports = { clearTimeout, leftOf, now, queueMicrotask, setImmediate, setTimeout };
