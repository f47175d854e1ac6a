'use strict';
// The names of what a host's `ivm` has.

const CLASSES = Object.freeze(['Callback', 'Context', 'ExternalCopy', 'Isolate', 'NativeModule', 'Reference', 'Script']);
const FUNCTIONS = Object.freeze(['configureEngine', 'engineStats']);
const SANDBOX_CLASSES = Object.freeze([
  'IsolatedVMSandbox', 'IsolatedVmSandbox', 'NotFoundError', 'PluginError', 'SandboxViolationError', 'SubprocessSandbox',
]);
const SANDBOX_FUNCTIONS = Object.freeze(['createIsolatedVMSandbox', 'createPluginFetch', 'createSandbox', 'createSubprocessSandbox', 'normalizeCode']);

module.exports = { CLASSES, FUNCTIONS, SANDBOX_CLASSES, SANDBOX_FUNCTIONS };
