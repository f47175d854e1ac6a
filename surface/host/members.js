'use strict';
// The names of the members of a host's `ivm`.

const CLASSES = Object.freeze(['Callback', 'Context', 'ExternalCopy', 'Isolate', 'NativeModule', 'Reference', 'Script']);
/** Functions with their numbers of parameters. */
const FUNCTIONS = Object.freeze({ configureEngine: 1, engineStats: 0 });
const SANDBOX_CLASSES = Object.freeze([
  'AgentSandbox', 'NotFoundError', 'PluginError', 'PluginSandbox', 'SandboxViolationError', 'SubprocessSandbox',
]);
/** Other names of classes, which are the same objects. */
const SANDBOX_ALIASES = Object.freeze({ IsolatedVMSandbox: 'AgentSandbox', IsolatedVmSandbox: 'PluginSandbox' });
const SANDBOX_FUNCTIONS = Object.freeze({
  createIsolatedVMSandbox: 1, createPluginFetch: 1, createSandbox: 2, createSubprocessSandbox: 1, describeTools: 1, normalizeCode: 1,
});

module.exports = { CLASSES, FUNCTIONS, SANDBOX_ALIASES, SANDBOX_CLASSES, SANDBOX_FUNCTIONS };
