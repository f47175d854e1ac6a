'use strict';
// Assembles the host's `ivm`: isolated-vm's classes, the ready-made sandboxes, and the engine's settings and statistics.

const createSurface = require('../index.js');
const { markHandles } = require('../core/handle.js');
const { createHostBinding } = require('./binding.js');
const { createEngine } = require('./engine.js');
const { SANDBOX_ALIASES, SANDBOX_CLASSES, SANDBOX_FUNCTIONS } = require('./members.js');
const { createUnavailable } = require('./unavailable.js');
const { uncloneable } = require('./uncloneable.js');

/**
 * Getters of members that are loaded when one of them is used for the first time.
 * @param {string[]} names
 * @param {() => any} load
 * @returns {object}
 */
function lazily(names, load) {
  const getters = {};
  for (const name of names) {
    Object.defineProperty(getters, name, { enumerable: true, get: () => load()[name] });
  }
  return getters;
}

/**
 * @param {any} native the addon
 * @param {{ launcher?: string }} [files] replacements for files, for tests
 * @returns {object} `ivm`, frozen
 */
function createHost(native, { launcher } = {}) {
  /** @type {() => any} */
  let sandboxes;
  const { binding, connect, environment } = createHostBinding(native, () => sandboxes().contextEquipment);
  /** @type {ReturnType<typeof createSurface>} */
  const surface = createSurface(binding, (core) => {
    /** @type {any} */
    let loaded;
    // In the package a file of its own (`scripts/setup/surface.mjs`).
    sandboxes = () => (loaded ??= require('./sandbox/index.js').createSandboxes(core, environment, () => surface.ivm, launcher));
    return Object.assign(lazily([...SANDBOX_CLASSES, ...Object.keys(SANDBOX_ALIASES), ...SANDBOX_FUNCTIONS], sandboxes), createEngine(environment));
  });
  connect(surface);
  markHandles(uncloneable);
  return surface.ivm;
}

module.exports = { createHost, createUnavailable };
