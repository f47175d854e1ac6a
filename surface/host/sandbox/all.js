'use strict';
// The ready-made sandboxes as they are. `index.js` has what stands for them until one is used.

const { createAgentSandbox } = require('./agent.js');
const { createSandboxFactory } = require('./code.js');
const { createReadEquipment } = require('./equipment.js');
const { createExecute } = require('./execution.js');
const { normalizeCode } = require('./normalize.js');
const { createPluginSandbox } = require('./plugin.js');
const { createReadSnapshot } = require('./snapshot.js');
const { createSubprocessSandboxes } = require('./subprocess.js');
const { createStripper } = require('./typescript.js');

/**
 * @param {import('../../index.js').Core} core
 * @param {any} environment the native one
 * @param {() => any} ivm
 * @param {string} [launcher] what processes are started with, instead of the executable beside the addon
 * @returns {any}
 */
function createAll(core, environment, ivm, launcher) {
  const execute = createExecute(core, environment);
  const strip = createStripper((memoryLimit) => core.binding.unpack(environment.makeSpare(memoryLimit), createAll));
  const readSnapshot = createReadSnapshot(core, environment);
  return {
    createSandbox: createSandboxFactory(execute, strip, readSnapshot),
    normalizeCode,
    ...createAgentSandbox(execute, strip, readSnapshot),
    ...createPluginSandbox(core, ivm, createReadEquipment(core, environment, strip, readSnapshot)),
    ...createSubprocessSandboxes(core, environment, strip, readSnapshot, launcher),
  };
}

module.exports = { createAll };
