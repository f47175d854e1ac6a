'use strict';
// Built-ins as they were when this file was loaded. The shared files of the surface use only these. Code inside an isolate that later
// replaces `Map.prototype.get` or `Object.defineProperty` therefore has no effect here. For the same reason, shared files avoid everything
// that reads prototypes implicitly: array spread and destructuring, `for … of`, `push`, and plain objects as property descriptors.

const { freeze, create, getOwnPropertyDescriptor, defineProperty, entries, hasOwn, is: sameValue, setPrototypeOf } = Object;
const { apply, ownKeys, getPrototypeOf } = Reflect;
const { isArray } = Array;
const { call, bind } = Function.prototype;
const ThePromise = Promise;

/**
 * `uncurryThis(Map.prototype.get)(map, key)` is `map.get(key)`, even if `Map.prototype` or `Function.prototype` change later.
 * @type {(method: (this: any, ...args: any[]) => any) => (self: any, ...args: any[]) => any}
 */
const uncurryThis = bind.bind(call);

/**
 * Defines a data property without reading `Object.prototype`.
 * @param {object} object
 * @param {PropertyKey} key
 * @param {unknown} value
 * @param {boolean} writable writable and configurable, or neither
 * @param {boolean} enumerable
 */
function define(object, key, value, writable, enumerable) {
  defineProperty(object, key, /** @type {any} */ ({ __proto__: null, value, writable, enumerable, configurable: writable }));
}

/**
 * Removes `Object.prototype` from the prototype chain of a class, so that setters which guest code defines there do not run.
 * @param {{ prototype: object }} Class
 */
function cutOff(Class) {
  setPrototypeOf(Class.prototype, null);
}

/**
 * The same for one object, which is also frozen. Missing properties are then undefined, and getters of guest code do not run.
 * @template {object} T
 * @param {T} object
 * @returns {T}
 */
function alone(object) {
  return freeze(setPrototypeOf(object, null));
}

/**
 * Protects a promise that only these files await. `await` reads its `constructor`; guest code that replaces this property on
 * `Promise.prototype` must not get access to the promise or determine how it settles.
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function inner(promise) {
  define(promise, 'constructor', ThePromise, false, false);
  return promise;
}

/** @type {((holder: object, above?: Function) => void) | undefined} absent in engines without it */
const captureStackTrace = /** @type {any} */ (Error).captureStackTrace;

module.exports = freeze({
  alone,
  apply,
  asIntN: BigInt.asIntN,
  BigInt,
  bigintValueOf: uncurryThis(BigInt.prototype.valueOf),
  captureStackTrace,
  create,
  cutOff,
  define,
  defineProperty,
  entries,
  Error,
  errorToString: Error.prototype.toString,
  FinalizationRegistry,
  finalizationRegister: uncurryThis(FinalizationRegistry.prototype.register),
  freeze,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  inner,
  isArray,
  isView: ArrayBuffer.isView,
  Map,
  mapDelete: uncurryThis(Map.prototype.delete),
  mapGet: uncurryThis(Map.prototype.get),
  mapSet: uncurryThis(Map.prototype.set),
  now: Date.now,
  Number,
  ownKeys,
  parse: JSON.parse,
  Promise,
  promiseThen: uncurryThis(Promise.prototype.then),
  RangeError,
  ReferenceError,
  sameValue,
  setPrototypeOf,
  String,
  stringIncludes: uncurryThis(String.prototype.includes),
  stringIndexOf: uncurryThis(String.prototype.indexOf),
  stringLastIndexOf: uncurryThis(String.prototype.lastIndexOf),
  stringSlice: uncurryThis(String.prototype.slice),
  stringStartsWith: uncurryThis(String.prototype.startsWith),
  Symbol,
  SyntaxError,
  TypeError,
  uncurryThis,
  WeakMap,
  weakMapGet: uncurryThis(WeakMap.prototype.get),
  weakMapSet: uncurryThis(WeakMap.prototype.set),
  WeakRef,
  weakRefDeref: uncurryThis(WeakRef.prototype.deref),
});
