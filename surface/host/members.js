'use strict';
// The names of what a host's `ivm` has.

const CLASSES = Object.freeze(['Callback', 'Context', 'ExternalCopy', 'Isolate', 'NativeModule', 'Reference', 'Script']);
const FUNCTIONS = Object.freeze(['configureEngine', 'engineStats']);
const SANDBOX_CLASSES = Object.freeze([
  'AgentSandbox', 'NotFoundError', 'PluginError', 'PluginSandbox', 'SandboxViolationError', 'SubprocessSandbox',
]);
/** Other names of classes, which are the same objects. */
const SANDBOX_ALIASES = Object.freeze({ IsolatedVMSandbox: 'AgentSandbox', IsolatedVmSandbox: 'PluginSandbox' });
const SANDBOX_FUNCTIONS = Object.freeze([
  'createIsolatedVMSandbox', 'createPluginFetch', 'createSandbox', 'createSubprocessSandbox', 'describeTools', 'normalizeCode',
]);

module.exports = { CLASSES, FUNCTIONS, SANDBOX_ALIASES, SANDBOX_CLASSES, SANDBOX_FUNCTIONS };
