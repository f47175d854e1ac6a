'use strict';
// The parts of Web IDL's interfaces and conversions that are needed here.

const { defineProperty, freeze, getOwnPropertyDescriptor, ownKeys, put, toStringTag, TypeError, wellFormed } = require('./primordials.js');

/**
 * Gives a class the shape of a Web IDL interface: enumerable members, and a tag.
 * @param {Function} Class
 * @param {string} name
 */
function shape(Class, name) {
  showAll(Class.prototype, (key) => key !== 'constructor');
  showAll(Class, (key) => key !== 'prototype' && key !== 'length' && key !== 'name');
  tag(Class.prototype, name);
}

/**
 * @param {object} object
 * @param {(key: string) => boolean} isMember
 */
function showAll(object, isMember) {
  const keys = ownKeys(object);
  for (let index = 0; index < keys.length; index += 1) {
    const key = /** @type {string} */ (keys[index]);
    if (typeof key === 'string' && isMember(key)) {
      const found = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(object, key));
      if (found.configurable) {
        defineProperty(object, key, /** @type {any} */ ({ __proto__: null, enumerable: true }));
      }
    }
  }
}

/**
 * @param {object} prototype
 * @param {string} name
 */
function tag(prototype, name) {
  defineProperty(prototype, toStringTag, /** @type {any} */ ({
    __proto__: null, value: name, writable: false, enumerable: false, configurable: true,
  }));
}

/** @param {unknown} value */
const text = (value) => `${/** @type {any} */ (value)}`;

/**
 * Converts to a string without lone surrogates.
 * @param {unknown} value
 * @returns {string}
 */
const scalarText = (value) => wellFormed(text(value));

/**
 * @param {number} given
 * @param {number} needed
 */
function checkCount(given, needed) {
  if (given < needed) {
    throw new TypeError(`${needed} argument${needed === 1 ? '' : 's'} required, but only ${given} present`);
  }
}

/**
 * @param {unknown} value
 * @param {string} what
 */
function checkFunction(value, what) {
  if (typeof value !== 'function') {
    throw new TypeError(`The "${what}" argument must be of type function`);
  }
}

/**
 * Checks an options object.
 * @param {unknown} value
 * @returns {any} undefined if there is none
 */
function dictionary(value) {
  if (value === undefined || value === null) {
    return undefined;
  }
  if (typeof value !== 'object' && typeof value !== 'function') {
    throw new TypeError('The "options" argument must be of type object');
  }
  return value;
}

/** @param {string} name */
const illegalConstructor = (name) => new TypeError(`Illegal constructor: ${name}`);

/**
 * Defines a member of the global object.
 * @param {object} target
 * @param {string} name
 * @param {unknown} value
 */
const expose = (target, name, value) => put(target, name, value, typeof value !== 'function' || !('prototype' in value));

module.exports = freeze({ __proto__: null, checkCount, checkFunction, dictionary, expose, illegalConstructor, scalarText, shape, tag, text });
