'use strict';
// Built-ins as they were when this file was loaded. The shared files of the surface use these and nothing that can be
// looked up later: inside an isolate, code that replaces `Map.prototype.get` or `Object.defineProperty` afterwards reaches
// nothing here. For the same reason shared files avoid what consults prototypes on its own: array spread and
// destructuring, `for … of`, `push`, and plain objects as property descriptors.

const { freeze, create, getOwnPropertyDescriptor, defineProperty, hasOwn, is: sameValue, setPrototypeOf } = Object;
const { apply, ownKeys, getPrototypeOf } = Reflect;
const { isArray } = Array;
const { call, bind } = Function.prototype;
const ThePromise = Promise;

/**
 * `uncurryThis(Map.prototype.get)(map, key)` is `map.get(key)`, whatever becomes of `Map.prototype` and `Function.prototype`.
 * @type {(method: (this: any, ...args: any[]) => any) => (self: any, ...args: any[]) => any}
 */
const uncurryThis = bind.bind(call);

/**
 * Defines a data property without consulting `Object.prototype`.
 * @param {object} object
 * @param {PropertyKey} key
 * @param {unknown} value
 * @param {boolean} writable also configurable: both or neither are wanted here
 * @param {boolean} enumerable
 */
function define(object, key, value, writable, enumerable) {
  defineProperty(object, key, /** @type {any} */ ({ __proto__: null, value, writable, enumerable, configurable: writable }));
}

/**
 * Cuts the instances of a class off from `Object.prototype`, so that no setter which guest code puts there sees them.
 * @param {{ prototype: object }} Class
 */
function cutOff(Class) {
  setPrototypeOf(Class.prototype, null);
}

/**
 * The same for one object. What it does not have is undefined then, and no getter that guest code puts there is shown it.
 * @template {object} T
 * @param {T} object
 * @returns {T}
 */
function alone(object) {
  return freeze(setPrototypeOf(object, null));
}

/**
 * A promise that only these files wait for. `await` asks for its `constructor`; whoever replaces that of all promises shall
 * neither get hold of it nor say how it settles.
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function inner(promise) {
  define(promise, 'constructor', ThePromise, false, false);
  return promise;
}

/** @type {((holder: object, above?: Function) => void) | undefined} absent in engines that have no such thing */
const captureStackTrace = /** @type {any} */ (Error).captureStackTrace;

module.exports = freeze({
  alone,
  apply,
  asIntN: BigInt.asIntN,
  BigInt,
  captureStackTrace,
  create,
  cutOff,
  define,
  defineProperty,
  Error,
  FinalizationRegistry,
  finalizationRegister: uncurryThis(FinalizationRegistry.prototype.register),
  freeze,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  inner,
  isArray,
  Map,
  mapDelete: uncurryThis(Map.prototype.delete),
  mapGet: uncurryThis(Map.prototype.get),
  mapSet: uncurryThis(Map.prototype.set),
  now: Date.now,
  Number,
  ownKeys,
  parse: JSON.parse,
  Promise,
  RangeError,
  ReferenceError,
  sameValue,
  String,
  stringIncludes: uncurryThis(String.prototype.includes),
  stringIndexOf: uncurryThis(String.prototype.indexOf),
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
