// The ES module entry: the same instance as the CommonJS one, its members also under static names.

import { createRequire } from 'node:module';

// Not by `import`: outside of a package's scope Deno would take the file for an ES module.
const ivm = createRequire(import.meta.url)('./index.js');

export default ivm;
export const {
  AgentSandbox,
  Callback,
  configureEngine,
  Context,
  createIsolatedVMSandbox,
  createPluginFetch,
  createSandbox,
  createSubprocessSandbox,
  describeTools,
  engineStats,
  ExternalCopy,
  Isolate,
  IsolatedVMSandbox,
  IsolatedVmSandbox,
  lib,
  NativeModule,
  normalizeCode,
  NotFoundError,
  PluginError,
  PluginSandbox,
  Reference,
  SandboxViolationError,
  Script,
  SubprocessSandbox,
} = ivm;
