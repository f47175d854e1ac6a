// The ES module entry: the same instance as the CommonJS one, its members also under static names.

import ivm from './index.js';

export default ivm;
export const {
  Callback,
  Context,
  ExternalCopy,
  Isolate,
  lib,
  NativeModule,
  Reference,
  Script,
} = ivm;
