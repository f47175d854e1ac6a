'use strict';
// Globals of `createSandbox` on their way in: values are copied, functions at any depth become functions that the guest
// calls as if they were synchronous.

const { CallbackRecord } = require('../../callback.js');
const { stamp } = require('../../handle.js');
const { CALLBACK, KIND } = require('../../protocol.js');
const { bare } = require('./options.js');

/** @typedef {{ calls: number, exists: boolean, count: () => void }} ApiCount calls of `api.request` */

/**
 * @param {object} object
 * @param {string} key
 * @param {unknown} value
 */
function define(object, key, value) {
  Object.defineProperty(object, key, bare({ value, writable: true, enumerable: true, configurable: true }));
}

/** A function on its way in. Unlike a plain object, an instance is asked for what it stands for when it is cloned. */
class Bridge {}

/**
 * @param {Function} target
 * @param {object | undefined} receiver what holds the function
 * @param {string} name
 */
function bridgeFunction(target, receiver, name) {
  const record = new CallbackRecord(target, CALLBACK.AWAITED);
  record.target = /** @param {any[]} args */ (...args) => Reflect.apply(target, receiver, args);
  record.name ||= name;
  return stamp(new Bridge(), KIND.CALLBACK, record);
}

/**
 * @param {Record<string, unknown>} globals
 * @param {ApiCount} api
 */
function bridgeGlobals(globals, api) {
  /** @type {Map<object, object>} */
  const seen = new Map();

  /** @param {unknown} value */
  const isOpen = (value) => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) {
      return false;
    }
    // What has a brand of its own is cloned as that; all else is looked through for functions.
    return Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]';
  };

  /**
   * @param {any} holder
   * @returns {any}
   */
  function bridge(holder) {
    const known = seen.get(holder);
    if (known !== undefined) {
      return known;
    }
    const copy = Array.isArray(holder) ? Object.assign([], { length: holder.length }) : {};
    seen.set(holder, copy);
    for (const key of Object.keys(holder)) {
      const value = holder[key];
      if (typeof value === 'function') {
        const target = holder === globals.api && key === 'request' ? counted(value, api) : value;
        define(copy, key, bridgeFunction(target, holder === globals ? undefined : holder, key));
      } else {
        define(copy, key, isOpen(value) ? bridge(value) : value);
      }
    }
    return copy;
  }

  return bridge(globals);
}

/**
 * `api.request`, as often as allowed.
 * @param {Function} target
 * @param {ApiCount} api
 */
function counted(target, api) {
  api.exists = true;
  /**
   * @this {unknown}
   * @param {any[]} args
   */
  return function request(...args) {
    api.count();
    api.calls += 1;
    return Reflect.apply(target, this, args);
  };
}

module.exports = { bridgeGlobals };
