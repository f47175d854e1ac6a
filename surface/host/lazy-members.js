'use strict';
// Members whose code is loaded when they are used for the first time.

const { defineDisposal } = require('../core/classes.js');
const { define } = require('../core/primordials.js');

/**
 * Adds getters of members that are loaded together, when one of them is used for the first time.
 * @template {object} T
 * @param {T} target
 * @param {readonly string[]} names
 * @param {() => any} load
 * @returns {T}
 */
function lazily(target, names, load) {
  /** @type {any} */
  let loaded;
  for (const name of names) {
    Object.defineProperty(target, name, { enumerable: true, get: () => (loaded ??= load())[name] });
  }
  return target;
}

/**
 * @param {Function} made with a length of 0
 * @param {number} length
 */
const withLength = (made, length) => (length === 0 ? made : Object.defineProperty(made, 'length', /** @type {any} */ ({ __proto__: null, value: length })));

/**
 * @param {string} name
 * @param {number} length
 * @param {() => Function} load returns the function that does the work
 * @returns {Function}
 */
function lazyFunction(name, length, load) {
  const { [name]: made } = {
    /** @param {unknown[]} args */
    [name](...args) {
      return Reflect.apply(load(), this, args);
    },
  };
  return withLength(made, length);
}

/**
 * The names of functions, with their numbers of parameters.
 * @typedef {Readonly<Record<string, number>>} Lengths
 */

/**
 * @typedef {object} Shape
 * @property {number} length
 * @property {Lengths} methods among them `close`, with which instances end
 * @property {Lengths} [statics]
 */

/**
 * A class whose instances have the private state of the class that does the work. Everything public is on the prototype of this one.
 * @param {string} name
 * @param {Shape} shape
 * @param {() => any} load returns the class that does the work
 * @returns {any}
 */
function lazyClass(name, { length, methods, statics = {} }, load) {
  const { [name]: Class } = {
    [name]: class {
      /** @param {unknown[]} args */
      constructor(...args) {
        return Reflect.construct(load(), args, new.target);
      }
    },
  };
  for (const [method, count] of Object.entries(methods)) {
    define(Class.prototype, method, lazyFunction(method, count, () => load().prototype[method]), true, false);
  }
  for (const [method, count] of Object.entries(statics)) {
    define(Class, method, lazyFunction(method, count, () => load()[method]), true, false);
  }
  defineDisposal(Class.prototype, /** @this {any} */ function end() {
    return this.close();
  });
  return withLength(Class, length);
}

module.exports = { lazily, lazyClass, lazyFunction };
