'use strict';
// The host's clock and timers, captured when the package is loaded. The sandboxes' code is loaded when it is first used, and a program (fake
// timers of a test, for example) may have replaced the methods of `process` and `node:timers` by then, or does so later. Times from
// both functions would be compared. `performance` would be as good, but Node loads a dozen files for it.

const { clearTimeout, setImmediate, setTimeout } = require('node:timers');
const { bigint } = process.hrtime;

const { queueMicrotask } = globalThis;

const NANOSECONDS = 1e6;

/** @returns {number} milliseconds from a point in the past that is the same for all callers */
const now = () => Number(bigint()) / NANOSECONDS;

module.exports = { clearTimeout, now, queueMicrotask, setImmediate, setTimeout };
