'use strict';
// The CommonJS entry. `lib` is its only own enumerable key, as in isolated-vm; everything else is on its frozen prototype.

/** @param {unknown} reason why the addon is missing; a checkout that is not built lacks both */
function loadSurface(reason) {
  try {
    // `surface/host/index.js` with what it needs.
    // @ts-ignore -- there after a build
    return require('./host/index.js');
  } catch (error) {
    throw reason ?? error;
  }
}

function load() {
  let native;
  try {
    native = require('./loader/native.js');
  } catch (reason) {
    return loadSurface(reason).createUnavailable(reason);
  }
  return loadSurface(undefined).createHost(native);
}

module.exports = load();
