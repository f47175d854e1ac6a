'use strict';
// `Callback`: a function to pass to other isolates, with the mode in which it is called there. Instances are not callable here; they
// arrive as plain functions. A Reference to a `Callback` applies its function.

const { cutOff, freeze, getOwnPropertyDescriptor } = require('../core/primordials.js');
const { bare, stamp } = require('../core/handle.js');
const { CALLBACK, KIND } = require('../core/protocol.js');
const { defineClass, needsNew } = require('../core/classes.js');
const { booleanOption, optionsArgument, tooFew, wrongParameter } = require('../core/options.js');

/** A function as other realms see it. */
class CallbackRecord {
  /**
   * @param {Function} target
   * @param {number} mode one of CALLBACK
   */
  constructor(target, mode) {
    this.target = target;
    this.mode = mode;
    this.name = nameOf(target);
    this.length = lengthOf(target);
  }
}
cutOff(CallbackRecord);

/**
 * @param {Function} target
 * @returns {string}
 */
function nameOf(target) {
  const found = getOwnPropertyDescriptor(target, 'name');
  return found !== undefined && typeof found.value === 'string' ? found.value : '';
}

/**
 * @param {Function} target
 * @returns {number}
 */
function lengthOf(target) {
  const found = getOwnPropertyDescriptor(target, 'length');
  const length = found === undefined ? 0 : found.value;
  return typeof length === 'number' && length > 0 ? length | 0 : 0;
}

/** @typedef {CallbackRecord} Described */

function createCallback() {
  /**
   * @this {object}
   * @param {Function} target
   * @param {any} [options]
   */
  function Callback(target, options) {
    if (new.target === undefined) {
      throw needsNew('Callback');
    }
    if (typeof target !== 'function') {
      throw arguments.length < 1 ? tooFew(1, 'Callback') : wrongParameter(1, 'a function', 'Callback');
    }
    options = optionsArgument(options, 2, 'Callback');
    /** @type {number} */
    let mode = CALLBACK.SYNC;
    if (options !== undefined) {
      // `sync` is the default and is not read, as in isolated-vm.
      if (booleanOption(options.async, 'async')) {
        mode = CALLBACK.ASYNC;
      } else if (booleanOption(options.ignored, 'ignored')) {
        mode = CALLBACK.IGNORED;
      }
    }
    return freeze(stamp(bare(new.target, this), KIND.CALLBACK, new CallbackRecord(target, mode)));
  }

  defineClass(Callback, {});
  return { Constructor: Callback };
}

module.exports = freeze({ createCallback, CallbackRecord });
