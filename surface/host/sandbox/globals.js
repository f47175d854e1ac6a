'use strict';
// Prepares the globals of `createSandbox` for the guest: values are copied, and functions at any depth become functions that the guest
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

/** Represents a function that is sent to the guest. When an instance is cloned, its carrier is looked up, unlike that of a plain object. */
class Bridge {}

/**
 * @param {Function} target
 * @param {object | undefined} receiver the object that holds the function
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
    // Objects with a brand of their own are cloned as such; all others are searched for functions.
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
 * `api.request`, with a limit on the number of calls.
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
