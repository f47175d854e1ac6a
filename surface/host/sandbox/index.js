'use strict';
// The ready-made sandboxes, which hosts have beside isolated-vm's classes. Their modules take long to compile, and many programs use
// none: what is here stands for them, and the first use of one runs those.

const { NotFoundError, PluginError, SandboxViolationError } = require('./plugin-errors.js');

const { apply, construct, defineProperty, ownKeys } = Reflect;

/** @typedef {Record<string | symbol, number>} Methods how many parameters each has */

/**
 * The methods of all of them that end with their scope.
 * @type {Methods}
 */
const DISPOSAL = Object.fromEntries(
  // Absent in engines that have no `using`.
  [Symbol.dispose, Symbol.asyncDispose].filter((key) => key !== undefined).map((key) => [key, 0]),
);

/**
 * A class whose instances are those of another one, which is not there yet. One that extends it is as one that extends the other.
 * @param {string} name
 * @param {number} length of the constructor
 * @param {Methods} methods
 * @param {Methods} statics
 * @param {() => any} actual
 */
function standFor(name, length, methods, statics, actual) {
  const Stand = class {
    /** @param {any[]} args */
    constructor(...args) {
      return construct(actual(), args, new.target);
    }
  };
  define(Stand, 'name', name, {});
  define(Stand, 'length', length, {});
  for (const [target, members, from] of /** @type {[any, Methods, () => any][]} */ ([
    [Stand.prototype, methods, () => actual().prototype],
    [Stand, statics, actual],
  ])) {
    for (const key of /** @type {any[]} */ (ownKeys(members))) {
      const { [key]: method } = {
        /** @param {any[]} args */
        [key](...args) {
          return apply(from()[key], this, args);
        },
      };
      define(method, 'length', members[key], {});
      const fixed = typeof key === 'symbol';
      define(target, key, method, { writable: !fixed, configurable: !fixed });
    }
  }
  return Stand;
}

/**
 * @param {object} target
 * @param {PropertyKey} key
 * @param {unknown} value
 * @param {{ writable?: boolean, configurable?: boolean }} attributes
 */
function define(target, key, value, { writable = false, configurable = true }) {
  defineProperty(target, key, /** @type {any} */ ({ __proto__: null, value, writable, enumerable: false, configurable }));
}

/**
 * @param {import('../../index.js').Core} core
 * @param {any} environment the native one
 * @param {() => any} ivm
 * @param {string} [launcher] what processes are started with, instead of the executable beside the addon
 * @returns {object}
 */
function createSandboxes(core, environment, ivm, launcher) {
  /** @type {any} */
  let made;
  const all = () => (made ??= require('./all.js').createAll(core, environment, ivm, launcher));

  const IsolatedVMSandbox = standFor('IsolatedVMSandbox', 1, { execute: 4, dispose: 0, getHeapStatistics: 0, ...DISPOSAL }, { isAvailable: 0 },
    () => all().IsolatedVMSandbox);
  const IsolatedVmSandbox = standFor('IsolatedVmSandbox', 2, {
    createIsolate: 1, executeInSandbox: 4, dispose: 1, disposeAll: 0, getMemoryUsage: 1, updateMemoryUsage: 2, getActiveIsolateCount: 0,
    getActiveIsolates: 0, ...DISPOSAL,
  }, {}, () => all().IsolatedVmSandbox);
  const SubprocessSandbox = standFor('SubprocessSandbox', 1, { execute: 4, terminate: 0, isRunning: 0, confinement: 0, ...DISPOSAL }, {},
    () => all().SubprocessSandbox);

  return {
    /** @param {any} globals @param {any} options */
    createSandbox: (globals, options) => all().createSandbox(globals, options),
    /** @param {string} code */
    normalizeCode: (code) => all().normalizeCode(code),
    IsolatedVMSandbox,
    /** @param {any} config */
    createIsolatedVMSandbox: (config) => new IsolatedVMSandbox(config),
    IsolatedVmSandbox,
    NotFoundError,
    PluginError,
    SandboxViolationError,
    SubprocessSandbox,
    /** @param {any} config */
    createSubprocessSandbox: (config) => new SubprocessSandbox(config),
  };
}

module.exports = { createSandboxes };
