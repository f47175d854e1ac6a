'use strict';
// Puts the host's `ivm` together. Beside isolated-vm's classes hosts have the ready-made sandboxes.

const createSurface = require('../index.js');
const { createHostBinding } = require('./binding.js');
const { createSandboxes } = require('./sandbox/index.js');

/**
 * @param {any} native the addon
 * @returns {object} `ivm`, frozen
 */
function createHost(native) {
  const { binding, connect, environment } = createHostBinding(native);
  const surface = createSurface(binding, (core) => createSandboxes(core, environment));
  connect(surface);
  return surface.ivm;
}

module.exports = { createHost };
