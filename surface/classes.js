'use strict';
// How the classes of the API are put together: constructors that insist on `new`, frozen prototypes over one common
// parent, frozen instances. Methods are written as object literals, so that they are no constructors themselves.

const { apply, create, define, defineProperty, freeze, getOwnPropertyDescriptor, hasOwn, ownKeys, Symbol } = require('./primordials.js');
const { stamp } = require('./handle.js');
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

/** Absent in engines that have no `using`. */
const disposal = /** @type {{ dispose?: symbol, asyncDispose?: symbol }} */ (Symbol);

/**
 * Has what is made of `prototype` end with its scope, by `using` or `await using`.
 * @param {object} prototype
 * @param {(this: any) => unknown} end may be called again; what it gives is waited for in the second case
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
 * @param {object} methods becomes the prototype: methods and getters, enumerable as in the original
 * @param {object} [aliases] older names, not enumerable
 * @param {(this: any) => void} [end] as for `defineDisposal`
 */
function defineClass(Constructor, methods, aliases, end) {
  const prototype = create(Transferable.prototype);
  addMembers(prototype, methods, true);
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
 * A frozen instance that no constructor of the API made.
 * @param {{ prototype: any }} Constructor
 * @param {number} kind
 * @param {object} record
 * @returns {any}
 */
function instance(Constructor, kind, record) {
  return freeze(stamp(create(Constructor.prototype), kind, record));
}

module.exports = freeze({ addMembers, defineClass, defineDisposal, instance, needsNew, privateConstructor });
