'use strict';
// The ready-made sandboxes, which hosts have beside isolated-vm's classes.

const { createAgentSandbox } = require('./agent.js');
const { createSandboxFactory } = require('./code.js');
const { createExecute } = require('./execution.js');
const { normalizeCode } = require('./normalize.js');

/**
 * @param {import('../../index.js').Core} core
 * @param {any} environment the native one
 * @returns {object}
 */
function createSandboxes(core, environment) {
  const execute = createExecute(core, environment);
  return { createSandbox: createSandboxFactory(execute), normalizeCode, ...createAgentSandbox(execute) };
}

module.exports = { createSandboxes };
