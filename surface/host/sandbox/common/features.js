'use strict';
// What only some executions need. It is in a file of its own (`scripts/setup/surface.mjs`), which is loaded with the first of these: compiling
// it would delay the first result of every program. What describes failures is not: it must not fail itself where no file can be opened any more.

const { own } = require('./options.js');

/**
 * @param {Record<string, any>} options
 * @returns {import('./inspection.js').Inspect | undefined} undefined if executions are not inspected
 */
function readInspector(options) {
  const inspector = own(options, 'inspector') ?? false;
  return inspector === false ? undefined : require('./inspection.js').inspectorOf(inspector);
}

/**
 * @param {Record<string, any>} options
 * @param {boolean} typescript whether the sources may have types
 * @returns {import('./modules.js').ModuleMap | undefined}
 */
function readModules(options, typescript) {
  const map = own(options, 'modules') ?? undefined;
  return map === undefined ? undefined : require('./modules.js').modulesOf(map, typescript);
}

/**
 * @param {(memoryLimit: number) => any} make creates an isolate that `engineStats` counts as warm
 * @returns {import('./typescript.js').Strip}
 */
function createStripper(make) {
  /** @type {import('./typescript.js').Strip | undefined} */
  let strip;
  return (bodies, timeout, signal) => (strip ??= require('./typescript.js').createStripper(make))(bodies, timeout, signal);
}

module.exports = { createStripper, readInspector, readModules };
