'use strict';
// Prepares the globals of `createSandbox` for the guest: values are copied, and functions at any depth become functions that the guest
// calls as if they were synchronous.

const { CallbackRecord } = require('../../../api/callback.js');
const { CODE, refused } = require('../../../core/error.js');
const { stamp } = require('../../../core/handle.js');
const { CALLBACK, KIND, TRANSFER } = require('../../../core/protocol.js');
const { checkCloneable } = require('./plain.js');
const { libraryCode } = require('./refusals.js');

/**
 * Calls of functions that count: all, or `api.request`.
 * @typedef {{ calls: number, exists: boolean, isForAll: boolean, count: () => void }} ApiCount
 */

/** Characters of a global's name that an error shows. */
const MAX_PATH = 200;

const { toSpliced } = Array.prototype;
const DIGITS = /^\d+$/;

/** An array with fewer elements than a fourth of its length is copied element by element. */
const SPARSE = 4;

/**
 * @param {object} object
 * @param {string | number} key
 * @param {unknown} value
 */
function define(object, key, value) {
  Object.defineProperty(object, key, /** @type {any} */ ({ __proto__: null, value, writable: true, enumerable: true, configurable: true }));
}

/**
 * A copy of an array, with its holes and with properties that are no elements.
 * @param {any} array
 * @returns {{ copy: any, dense: number, others: string[] }} the number of elements that can be found by their indices, and the other keys
 */
function copyOfArray(array) {
  const keys = Object.keys(array);
  const isSparse = keys.length * SPARSE < array.length;
  /** @type {any} */
  const copy = isSparse ? [] : Reflect.apply(toSpliced, array, []);
  const dense = copy.length;
  for (let index = 0; index < dense; index += 1) {
    if (copy[index] === undefined && !Object.hasOwn(array, index)) {
      delete copy[index];
    }
  }
  // Elements are first among the keys.
  const others = isSparse ? keys : keys.slice(keys.findLastIndex((key) => DIGITS.test(key) && Number(key) < dense) + 1);
  for (const key of others) {
    define(copy, key, array[key]);
  }
  if (isSparse) {
    copy.length = array.length;
  }
  return { copy, dense, others };
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
    const { copy, dense, others } = Array.isArray(holder) ? copyOfArray(holder) : { copy: { ...holder }, dense: 0, others: undefined };
    seen.set(holder, copy);
    for (let index = 0; index < dense; index += 1) {
      replace(holder, copy, index);
    }
    for (const key of others ?? Object.keys(copy)) {
      replace(holder, copy, key);
    }
    return copy;
  }

  /**
   * Replaces a member of a copy, if it is a function or may contain functions.
   * @param {any} holder
   * @param {any} copy
   * @param {string | number} key
   */
  function replace(holder, copy, key) {
    const value = copy[key];
    if (typeof value === 'function') {
      const counts = api.isForAll || (holder === globals.api && key === 'request');
      api.exists ||= counts;
      define(copy, key, bridgeFunction(value, holder === globals ? undefined : holder, `${key}`, counts ? api : undefined));
    } else if (isOpen(value)) {
      define(copy, key, bridge(value));
    }
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
        checkCloneable(value);
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

/**
 * Packs the globals of the guest. If one cannot be copied, the error names it.
 * @param {import('../../../index.js').Core['binding']} binding
 * @param {any} globals from `bridgeGlobals`
 */
function packGlobals(binding, globals) {
  try {
    return binding.pack(globals, TRANSFER.COPY);
  } catch (error) {
    const isRefused = error instanceof Error && libraryCode(error) === CODE.TRANSFER;
    const path = isRefused ? pathOfRefused(globals, 'globals') : undefined;
    throw path === undefined ? error : refused(`\`${path.slice(0, MAX_PATH)}\`: ${/** @type {Error} */ (error).message}`);
  }
}

module.exports = { bridgeGlobals, packGlobals };
