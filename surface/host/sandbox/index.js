'use strict';
// The ready-made sandboxes, which hosts have in addition to isolated-vm's classes.

const { createAgentSandbox } = require('./agent/sandbox.js');
const { createSandboxFactory } = require('./code/sandbox.js');
const { createContextEquipment } = require('./context/equipment.js');
const { describeTools } = require('./tools/descriptions.js');
const { createReadEquipment } = require('./plugin/equipment.js');
const { createExecute } = require('./common/execution.js');
const { createNormalizeCode } = require('./code/parser.js');
const { createPluginSandbox } = require('./plugin/sandbox.js');
const { createPluginFetch } = require('./plugin/fetch.js');
const { createReadSnapshot } = require('./common/snapshot.js');
const { createSubprocessSandboxes } = require('./subprocess/sandbox.js');
const { createStripper } = require('./common/typescript.js');

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
    ...createAgentSandbox(execute, strip, readSnapshot, makeSpare),
    ...createPluginSandbox(core, ivm, createReadEquipment(core, environment, strip, readSnapshot)),
    ...createSubprocessSandboxes(core, environment, { strip, make: makeSpare }, readSnapshot, launcher),
  };
}

module.exports = { createSandboxes };
