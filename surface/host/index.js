'use strict';
// Puts the host's `ivm` together. What hosts have beside isolated-vm's classes is added here, in `more`.

const createSurface = require('../index.js');
const { createHostBinding } = require('./binding.js');

/**
 * @param {any} native the addon
 * @returns {object} `ivm`, frozen
 */
function createHost(native) {
  const { binding, connect } = createHostBinding(native);
  const surface = createSurface(binding, more);
  connect(surface);
  return surface.ivm;
}

/**
 * Members of the host's `ivm` beside the classes; guests have none of them.
 * @returns {object}
 */
const more = () => ({});

module.exports = { createHost };
