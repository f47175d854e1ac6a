'use strict';
// The ready-made sandboxes, which hosts have in addition to isolated-vm's classes.

const { createAgentSandbox } = require('./agent.js');
const { createSandboxFactory } = require('./code.js');
const { createContextEquipment } = require('./context-equipment.js');
const { describeTools } = require('./describe-tools.js');
const { createReadEquipment } = require('./equipment.js');
const { createExecute } = require('./execution.js');
const { createNormalizeCode } = require('./parser.js');
const { createPluginSandbox } = require('./plugin.js');
const { createPluginFetch } = require('./plugin-fetch.js');
const { createReadSnapshot } = require('./snapshot.js');
const { createSubprocessSandboxes } = require('./subprocess.js');
const { createStripper } = require('./typescript.js');

/**
 * @param {import('../../index.js').Core} core
 * @param {any} environment the native one
 * @param {() => any} ivm
 * @param {string} [launcher] the executable that starts processes, instead of the one beside the addon
 * @returns {object} the members of `ivm`, and `contextEquipment` for contexts
 */
function createSandboxes(core, environment, ivm, launcher) {
  const execute = createExecute(core, environment);
  /** @param {number} memoryLimit */
  const makeSpare = (memoryLimit) => core.binding.unpack(environment.makeWarm(memoryLimit), createSandboxes);
  const strip = createStripper(makeSpare);
  const readSnapshot = createReadSnapshot(core, environment);
  return {
    createSandbox: createSandboxFactory(execute, strip, readSnapshot),
    contextEquipment: createContextEquipment(core, environment, ivm),
    describeTools,
    normalizeCode: createNormalizeCode(makeSpare),
    createPluginFetch,
    ...createAgentSandbox(execute, strip, readSnapshot),
    ...createPluginSandbox(core, ivm, createReadEquipment(core, environment, strip, readSnapshot)),
    ...createSubprocessSandboxes(core, environment, strip, readSnapshot, launcher),
  };
}

module.exports = { createSandboxes };
