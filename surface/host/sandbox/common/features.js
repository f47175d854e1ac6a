'use strict';
// What only some executions need. It is in a file of its own (`scripts/setup/surface.mjs`), which is loaded with the first of these: compiling
// it would delay the first result of every program.

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

/**
 * Explains an error in code of any form.
 * @param {import('./execution.js').Outcome} outcome
 * @param {string} code
 * @param {boolean} typescript whether the option is set
 */
const explained = (outcome, code, typescript) => (outcome.ok ? outcome : require('./syntax.js').explained(outcome, code, typescript));

/**
 * Names the option for TypeScript in a syntax error whose line looks like TypeScript.
 * @template {import('./execution.js').Outcome} O
 * @param {O} outcome
 * @param {string} code
 * @param {boolean} typescript whether the option is set
 * @returns {O}
 */
const namingOption = (outcome, code, typescript) => (outcome.ok ? outcome : require('./syntax.js').namingOption(outcome, code, typescript));

/** @type {typeof import('./failure.js').failureOf} */
const failureOf = (outcome, source, message, modules, file) => require('./failure.js').failureOf(outcome, source, message, modules, file);

module.exports = { createStripper, explained, failureOf, namingOption, readInspector, readModules };
