// The ES module entry: the same instance as the CommonJS one, its members also under static names.

import ivm from './loader/index.cjs';

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
