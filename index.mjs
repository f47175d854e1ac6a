// The ES module entry: the same instance as the CommonJS one, its members also under static names.

import ivm from './index.js';

export default ivm;
export const {
  Callback,
  Context,
  createIsolatedVMSandbox,
  createSandbox,
  ExternalCopy,
  Isolate,
  IsolatedVMSandbox,
  lib,
  NativeModule,
  normalizeCode,
  Reference,
  Script,
} = ivm;
