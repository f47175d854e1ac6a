'use strict';
// The CommonJS entry. `lib` is its only own enumerable key, as in isolated-vm; everything else is on its frozen prototype.

// The first, for where it is missing it says what to do.
const native = require('./native.js');
// `surface/host/index.js` with what it needs, in one file.
// @ts-ignore -- there after a build
const { createHost } = require('./host/index.js');

module.exports = createHost(native);
