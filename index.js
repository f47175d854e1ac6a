'use strict';
// The CommonJS entry. `lib` is its only own enumerable key, as in isolated-vm; everything else is on its frozen prototype.

const { createHost } = require('./surface/host/index.js');

module.exports = createHost(require('./native.js'));
