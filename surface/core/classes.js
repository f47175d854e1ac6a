'use strict';
// Helpers that build the classes of the API: constructors that require `new`, frozen prototypes with one common parent, frozen
// instances. Methods are written in object literals, so that they are not constructors.

const { apply, define, defineProperty, freeze, getOwnPropertyDescriptor, hasOwn, ownKeys, setPrototypeOf, Symbol } = require('./primordials.js');
const { bare, stamp } = require('./handle.js');
const { invalid } = require('./error.js');

/** The common parent of all prototypes. */
const Transferable = /** @type {any} */ (function () {
  throw privateConstructor('Transferable');
});

/**
 * @param {string} name
 * @returns {Error}
 */
const privateConstructor = (name) => invalid(`\`${name}\` constructor is private`);

/**
 * @param {string} name
 * @returns {Error}
 */
const needsNew = (name) => invalid(`\`${name}\` must be called with \`new\``);

/** The symbols are absent in engines without `using`. */
const disposal = /** @type {{ dispose?: symbol, asyncDispose?: symbol }} */ (Symbol);

/**
 * Makes instances of `prototype` end with their scope, with `using` or `await using`.
 * @param {object} prototype
 * @param {(this: any) => unknown} end may be called repeatedly; its result is awaited for `await using`
 */
function defineDisposal(prototype, end) {
  const { dispose, asyncDispose } = disposal;
  if (dispose !== undefined) {
    addMembers(prototype, { [dispose]() { apply(end, this, []); } }, false);
  }
  if (asyncDispose !== undefined) {
    addMembers(prototype, { async [asyncDispose]() { await apply(end, this, []); } }, false);
  }
}

/**
 * Gives a constructor its frozen prototype.
 * @param {Function} Constructor
 * @param {object} methods becomes the prototype: methods and getters, enumerable as in isolated-vm
 * @param {object} [aliases] former names, not enumerable
 * @param {(this: any) => void} [end] as for `defineDisposal`
 */
function defineClass(Constructor, methods, aliases, end) {
  const prototype = setPrototypeOf(methods, Transferable.prototype);
  if (aliases !== undefined) {
    addMembers(prototype, aliases, false);
  }
  if (end !== undefined) {
    defineDisposal(prototype, end);
  }
  define(prototype, 'constructor', Constructor, false, false);
  define(Constructor, 'prototype', freeze(prototype), false, false);
}

/**
 * @param {object} target
 * @param {object} members
 * @param {boolean} enumerable
 */
function addMembers(target, members, enumerable) {
  const keys = ownKeys(members);
  for (let index = 0; index < keys.length; index += 1) {
    const key = /** @type {PropertyKey} */ (keys[index]);
    const found = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(members, key));
    if (hasOwn(found, 'value')) {
      define(target, key, found.value, false, enumerable);
    } else {
      defineProperty(target, key, /** @type {any} */ ({
        __proto__: null, get: found.get, set: found.set, enumerable, configurable: false,
      }));
    }
  }
}

/**
 * Creates a frozen instance without calling a constructor of the API.
 * @param {Function} Constructor
 * @param {number} kind
 * @param {object} record
 * @returns {any}
 */
function instance(Constructor, kind, record) {
  return freeze(stamp(bare(Constructor), kind, record));
}

module.exports = freeze({ addMembers, defineClass, defineDisposal, instance, needsNew, privateConstructor });
