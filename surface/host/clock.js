'use strict';
// The host's clock and timers, captured when the package is loaded. The sandboxes' code is loaded when it is first used, and a program (fake
// timers of a test, for example) may have replaced the methods of `performance` and `node:timers` by then, or does so later. Times from
// both functions would be compared.

const { performance } = require('node:perf_hooks');
const { clearTimeout, setImmediate, setTimeout } = require('node:timers');

module.exports = { clearTimeout, now: performance.now.bind(performance), setImmediate, setTimeout };
