'use strict';
// Built-ins as they were before any guest code ran. As in the rest of the surface, code that runs later uses only these: see
// ../core/primordials.js.

const { create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
const { apply, construct, ownKeys } = Reflect;
const { iterator, toStringTag } = Symbol;

/** @type {(method: Function) => (self: any, ...args: any[]) => any} */
const uncurryThis = Function.prototype.bind.bind(Function.prototype.call);

/**
 * @param {object} prototype
 * @param {PropertyKey} key
 */
const getterOf = (prototype, key) =>
  uncurryThis(/** @type {() => any} */ (/** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(prototype, key)).get));

const typedArrays = getPrototypeOf(Uint8Array.prototype);

/**
 * Defines a data property, regardless of `Object.prototype` and of setters in the prototype chain.
 * @param {object} object
 * @param {PropertyKey} key
 * @param {unknown} value
 * @param {boolean} enumerable
 */
function put(object, key, value, enumerable) {
  const found = getOwnPropertyDescriptor(object, key);
  // A global that a script of a snapshot declared is no longer configurable.
  const is = found === undefined || found.configurable ? { __proto__: null, value, writable: true, enumerable, configurable: true } : { __proto__: null, value };
  defineProperty(object, key, /** @type {any} */ (is));
}

/**
 * An internal array. Without a prototype, so that no setter on `Array.prototype` runs when it is filled.
 * @returns {any[]}
 */
const list = () => setPrototypeOf([], null);

module.exports = freeze({
  __proto__: null,
  apply,
  arraySort: uncurryThis(Array.prototype.sort),
  captureStackTrace: /** @type {any} */ (Error).captureStackTrace,
  construct,
  create,
  defineProperty,
  Error,
  FinalizationRegistry,
  finalizationRegister: uncurryThis(FinalizationRegistry.prototype.register),
  freeze,
  getOwnPropertyDescriptor,
  global: globalThis,
  iterator,
  iterators: getPrototypeOf(getPrototypeOf(/** @type {any} */ ([])[iterator]())),
  list,
  ownKeys,
  put,
  RangeError,
  Set,
  setAdd: uncurryThis(Set.prototype.add),
  setHas: uncurryThis(Set.prototype.has),
  setPrototypeOf,
  stringIndexOf: uncurryThis(String.prototype.indexOf),
  stringSlice: uncurryThis(String.prototype.slice),
  toStringTag,
  typedArrayLength: getterOf(typedArrays, 'byteLength'),
  typedArrayName: getterOf(typedArrays, toStringTag),
  TypeError,
  Uint8Array,
  wellFormed: uncurryThis(/** @type {any} */ (String.prototype).toWellFormed),
});
