'use strict';
// What a Reference may do with an object of this realm: own data properties, no getters, no proxies, no prototypes, unless it
// was made to see more. Nothing here can be made to run code of the object by whoever holds the Reference, except a getter
// that `accessors` asks for.

const { types } = require('node:util');
const { TRANSFER } = require('../protocol.js');
const { invalid } = require('../error.js');

const { getOwnPropertyDescriptor, getPrototypeOf, defineProperty, deleteProperty } = Reflect;
const { hasOwn } = Object;

/**
 * @param {any} target
 * @returns {object}
 */
function checkObject(target) {
  if (typeof target !== 'object' || target === null) {
    throw invalid('Reference is not an object');
  }
  for (let each = target; each !== null; each = getPrototypeOf(each)) {
    if (types.isProxy(each)) {
      throw invalid('Object is or has proxy');
    }
  }
  return target;
}

/**
 * Whether reading an own property runs code or native code, as V8 counts it.
 * @param {object} holder
 * @param {string | number} key
 */
function isGetter(holder, key) {
  const found = getOwnPropertyDescriptor(holder, key);
  if (found !== undefined && !hasOwn(found, 'value')) {
    return true;
  }
  return (key === 'length' && (Array.isArray(holder) || types.isStringObject(holder)))
    || (key === 'stack' && types.isNativeError(holder));
}

/**
 * @param {any} target
 * @param {string | number} key
 * @param {number} bits ACCESSORS and UNSAFE_INHERIT count
 * @returns {unknown}
 */
function read(target, key, bits) {
  const object = checkObject(target);
  const accessors = (bits & TRANSFER.ACCESSORS) !== 0;
  const inherit = (bits & TRANSFER.UNSAFE_INHERIT) !== 0;
  /** @type {object | null} */
  let holder = object;
  while (holder !== null && !hasOwn(holder, key)) {
    holder = inherit ? getPrototypeOf(holder) : null;
  }
  if (holder === null) {
    return undefined;
  }
  if (!accessors && isGetter(holder, key)) {
    throw invalid('Property is getter');
  }
  return Reflect.get(object, key);
}

/**
 * @param {any} target
 * @param {string | number} key
 * @param {() => unknown} value asked for after the old value is gone, which may be what makes room for it
 */
function write(target, key, value) {
  const object = checkObject(target);
  deleteProperty(object, key);
  if (!defineProperty(object, key, /** @type {any} */ ({ __proto__: null, value: value(), writable: true, enumerable: true, configurable: true }))) {
    throw invalid('Set failed');
  }
}

/**
 * @param {any} target
 * @param {string | number} key
 */
function remove(target, key) {
  if (!deleteProperty(checkObject(target), key)) {
    throw invalid('Delete failed');
  }
}

module.exports = { read, remove, write };
