'use strict';
// Prepares the globals of `createSandbox` for the guest: values are copied, and functions at any depth become functions that the guest
// calls as if they were synchronous.

const { CallbackRecord } = require('../../callback.js');
const { stamp } = require('../../handle.js');
const { CALLBACK, KIND } = require('../../protocol.js');
const { bare } = require('./options.js');

/**
 * Calls of functions that count: all, or `api.request`.
 * @typedef {{ calls: number, exists: boolean, isForAll: boolean, count: () => void }} ApiCount
 */

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
 * @param {ApiCount | undefined} api if its calls count
 */
function bridgeFunction(target, receiver, name, api) {
  const record = new CallbackRecord(target, CALLBACK.AWAITED);
  /** @param {any[]} args */
  record.target = (...args) => {
    if (api !== undefined) {
      api.count();
      api.calls += 1;
    }
    return Reflect.apply(target, receiver, args);
  };
  record.name ||= name;
  return stamp(new Bridge(), KIND.CALLBACK, record);
}

/**
 * Whether an object is searched for functions. Objects with a brand of their own are cloned as such.
 * @param {any} value
 */
function isOpen(value) {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) {
    return false;
  }
  return Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]';
}

/**
 * @param {Record<string, unknown>} globals
 * @param {ApiCount} api
 */
function bridgeGlobals(globals, api) {
  /** @type {Map<object, object>} */
  const seen = new Map();

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
        const counts = api.isForAll || (holder === globals.api && key === 'request');
        api.exists ||= counts;
        define(copy, key, bridgeFunction(value, holder === globals ? undefined : holder, key, counts ? api : undefined));
      } else {
        define(copy, key, isOpen(value) ? bridge(value) : value);
      }
    }
    return copy;
  }

  return bridge(globals);
}

/**
 * The first member that cannot be copied, as an expression; undefined if there is none.
 * @param {any} bridged what `bridgeGlobals` has returned
 * @param {string} path of it
 * @param {Set<object>} [seen]
 * @returns {string | undefined}
 */
function pathOfRefused(bridged, path, seen = new Set([bridged])) {
  for (const [key, value] of Object.entries(bridged)) {
    const place = Array.isArray(bridged) ? `${path}[${key}]` : `${path}.${key}`;
    if (value instanceof Bridge || seen.has(value)) {
      continue;
    }
    if (!isOpen(value)) {
      try {
        structuredClone(value);
      } catch {
        return place;
      }
      continue;
    }
    seen.add(value);
    const inner = pathOfRefused(value, place, seen);
    if (inner !== undefined) {
      return inner;
    }
  }
  return undefined;
}

module.exports = { bridgeGlobals, pathOfRefused };
