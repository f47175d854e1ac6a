'use strict';
// The sandboxes' members of `ivm`: classes and functions whose code is loaded when they are used. None of them is a getter, because an
// `import` of the package reads all members at once.

const { define } = require('../../core/primordials.js');
const { lazyClass, lazyFunction } = require('../lazy-members.js');
const { SANDBOX_ALIASES, SANDBOX_CLASSES, SANDBOX_FUNCTIONS } = require('../members.js');
const errors = require('./plugin/errors.js');

/** @type {Readonly<Record<string, import('../lazy-members.js').Shape>>} */
const SHAPES = Object.freeze({
  AgentSandbox: { length: 1, methods: { execute: 4, dispose: 0, close: 0, getHeapStatistics: 0 }, statics: { isAvailable: 0 } },
  PluginSandbox: {
    length: 0,
    methods: {
      createIsolate: 1, executeInSandbox: 4, dispose: 1, disposeAll: 0, close: 0, getMemoryUsage: 1, updateMemoryUsage: 2, getActiveIsolateCount: 0,
      getActiveIsolates: 0,
    },
  },
  SubprocessSandbox: {
    length: 1,
    methods: { execute: 4, dispose: 0, terminate: 0, close: 0, isRunning: 0, confinement: 0 },
    statics: { isAvailable: 0 },
  },
});

/** The members whose guests run in this process. */
const IN_PROCESS = Object.freeze(['createSandbox', 'AgentSandbox']);

/** Functions that create an instance of a class, with the function's only argument. */
const CREATES = Object.freeze({ createIsolatedVMSandbox: 'AgentSandbox', createSubprocessSandbox: 'SubprocessSandbox' });

/**
 * @param {() => any} sandboxes loads them
 * @param {() => void} startEngine on another thread, while this one compiles what is loaded
 * @returns {Record<string, any>}
 */
function createSandboxMembers(sandboxes, startEngine) {
  let isStarted = false;
  /** @param {string} name */
  const load = (name) => {
    if (!isStarted && IN_PROCESS.includes(name)) {
      isStarted = true;
      startEngine();
    }
    return sandboxes()[name];
  };
  /** @type {Record<string, any>} */
  const members = {};
  /** @param {string} name @param {unknown} value */
  const add = (name, value) => define(members, name, value, false, true);
  for (const name of SANDBOX_CLASSES) {
    const shape = SHAPES[name];
    add(name, shape === undefined ? /** @type {Record<string, Function>} */ (errors)[name] : lazyClass(name, shape, () => load(name)));
  }
  for (const [name, other] of Object.entries(SANDBOX_ALIASES)) {
    add(name, members[other]);
  }
  for (const [name, length] of Object.entries(SANDBOX_FUNCTIONS)) {
    const created = /** @type {Record<string, string>} */ (CREATES)[name];
    add(name, lazyFunction(name, length, created === undefined ? () => load(name) : () => (/** @type {unknown} */ config) => new members[created](config)));
  }
  return members;
}

module.exports = { createSandboxMembers, SHAPES };
