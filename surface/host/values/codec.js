'use strict';
// The codec for values. It is loaded when the first value crosses that is not a primitive or a handle, because it is a third of what the host
// loads. In the package, it is in a file of its own (`scripts/setup/surface.mjs`).

/** @type {typeof import('../wire/index.js') | undefined} */
let loaded;

const codec = () => (loaded ??= require('../wire/index.js'));

module.exports = { codec };
