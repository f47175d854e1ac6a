'use strict';
// What a Reference can do with an object of this realm: it accesses own data properties, but no getters, proxies or prototypes,
// unless an option allows more. The holder of the Reference cannot make this file run code of the object, except a getter that
// `accessors` allows.

const { types } = require('node:util');
const { MESSAGE, TRANSFER } = require('../../core/protocol.js');
const { invalid } = require('../../core/error.js');

const { getOwnPropertyDescriptor, getPrototypeOf, defineProperty, deleteProperty } = Reflect;
const { hasOwn } = Object;

/**
 * @param {any} target
 * @returns {object}
 */
function checkObject(target) {
  if (typeof target !== 'object' || target === null) {
    throw invalid(MESSAGE.NOT_AN_OBJECT);
  }
  for (let each = target; each !== null; each = getPrototypeOf(each)) {
    if (types.isProxy(each)) {
      throw invalid(MESSAGE.PROXY);
    }
  }
  return target;
}

/**
 * Whether reading an own property runs JavaScript or native code, as V8 sees it.
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
 * @param {number} bits of which ACCESSORS and UNSAFE_INHERIT are used
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
    throw invalid(MESSAGE.GETTER);
  }
  return Reflect.get(object, key);
}

/**
 * @param {any} target
 * @param {string | number} key
 * @param {() => unknown} value called once the target was checked
 */
function write(target, key, value) {
  const object = checkObject(target);
  if (!defineProperty(object, key, /** @type {any} */ ({ __proto__: null, value: value(), writable: true, enumerable: true, configurable: true }))) {
    throw invalid(MESSAGE.NOT_SET);
  }
}

/**
 * @param {any} target
 * @param {string | number} key
 */
function remove(target, key) {
  if (!deleteProperty(checkObject(target), key)) {
    throw invalid(MESSAGE.NOT_DELETED);
  }
}

module.exports = { read, remove, write };
