'use strict';
// Assembles the host's `ivm`: isolated-vm's classes, the ready-made sandboxes, and the engine's settings and statistics.

const createSurface = require('../index.js');
const { define } = require('../core/primordials.js');
const { makeHandlesWith } = require('../core/handle.js');
const { createHostBinding } = require('./binding.js');
const { lazyFunction } = require('./lazy-members.js');
const { FUNCTIONS } = require('./members.js');
const { createSandboxMembers } = require('./sandbox/members.js');
const { uncloneable } = require('./uncloneable.js');

/**
 * @param {any} native the addon
 * @param {{ launcher?: string }} [files] replacements for files, for tests
 * @returns {object} `ivm`, frozen
 */
function createHost(native, { launcher } = {}) {
  /** @type {() => any} */
  let sandboxes;
  const { binding, connect, environment } = createHostBinding(native, () => sandboxes());
  /** @type {ReturnType<typeof createSurface>} */
  const surface = createSurface(binding, (core) => {
    /** @type {any} */
    let loaded;
    // What is required in functions is in other files of the package (`scripts/setup/surface.mjs`).
    sandboxes = () => (loaded ??= require('./sandbox/index.js').createSandboxes(core, environment, () => surface.ivm, launcher));
    /** @type {any} */
    let engine;
    const loadEngine = () => (engine ??= require('./engine.js').createEngine(environment));
    const members = createSandboxMembers(sandboxes, () => environment.startEngine());
    for (const [name, length] of Object.entries(FUNCTIONS)) {
      define(members, name, lazyFunction(name, length, () => loadEngine()[name]), false, true);
    }
    return members;
  });
  connect(surface);
  // Made before, and so no handle for `structuredClone`.
  const { ivm } = surface;
  makeHandlesWith(uncloneable);
  return ivm;
}

/**
 * @param {unknown} reason
 * @returns {object} `ivm` without an addon
 */
function createUnavailable(reason) {
  return require('./unavailable.js').createUnavailable(reason);
}

module.exports = { createHost, createUnavailable };
