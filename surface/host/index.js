'use strict';
// Assembles the host's `ivm`: isolated-vm's classes, the ready-made sandboxes, and the engine's settings and statistics.

const createSurface = require('../index.js');
const { markHandles } = require('../handle.js');
const { createHostBinding } = require('./binding.js');
const { createEngine } = require('./engine.js');
const { createSandboxes } = require('./sandbox/index.js');
const { uncloneable } = require('./uncloneable.js');

/**
 * @param {any} native the addon
 * @param {{ launcher?: string }} [files] replacements for files, for tests
 * @returns {object} `ivm`, frozen
 */
function createHost(native, { launcher } = {}) {
  const { binding, connect, environment } = createHostBinding(native);
  /** @type {ReturnType<typeof createSurface>} */
  const surface = createSurface(binding, (core) => ({
    ...createSandboxes(core, environment, () => surface.ivm, launcher),
    ...createEngine(environment),
  }));
  connect(surface);
  markHandles(uncloneable);
  return surface.ivm;
}

module.exports = { createHost };
