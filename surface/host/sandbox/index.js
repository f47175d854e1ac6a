'use strict';
// The ready-made sandboxes, which hosts have in addition to isolated-vm's classes.

const { lazily } = require('../lazy-members.js');
const { createSandboxFactory } = require('./code/sandbox.js');
const { createExecute } = require('./common/execution.js');
const { createReadSnapshot } = require('./common/snapshot.js');
const { createStripper } = require('./common/features.js');

/**
 * @param {import('../../index.js').Core} core
 * @param {any} environment the native one
 * @param {() => any} ivm
 * @param {string} [launcher] the executable that starts processes, instead of the one beside the addon
 * @returns {object} what does the work of the members of `ivm`, and `contextGlobals` and `webBits` for contexts and snapshots
 */
function createSandboxes(core, environment, ivm, launcher) {
  const execute = createExecute(core, environment);
  /** @param {number} memoryLimit */
  const makeWarm = (memoryLimit) => core.binding.unpack(environment.makeWarm(memoryLimit), createSandboxes);
  const strip = createStripper(makeWarm);
  const readSnapshot = createReadSnapshot(core, environment);
  const members = {
    createSandbox: createSandboxFactory(execute, strip, readSnapshot),
  };
  // These are in other files of the package.
  lazily(members, ['contextGlobals', 'webBits'], () => require('./context/globals.js').createContextMembers(core, environment, ivm));
  lazily(members, ['normalizeCode'], () => ({ normalizeCode: require('./code/parser.js').createNormalizeCode(makeWarm) }));
  lazily(members, ['describeTools'], () => require('./tools/descriptions.js'));
  lazily(members, ['AgentSandbox'], () => require('./agent/sandbox.js').createAgentSandbox(execute, strip, readSnapshot, makeWarm));
  lazily(members, ['SubprocessSandbox'],
    () => require('./subprocess/sandbox.js').createSubprocessSandboxes(core, environment, { strip, make: makeWarm }, readSnapshot, launcher));
  lazily(members, ['createPluginFetch'], () => require('./plugin/network/fetch.js'));
  lazily(members, ['PluginSandbox'], () => {
    const readRuntime = require('./plugin/isolate/runtime.js').createReadRuntime(core, environment, strip, readSnapshot);
    return require('./plugin/sandbox.js').createPluginSandbox(core, ivm, readRuntime);
  });
  return members;
}

module.exports = { createSandboxes };
