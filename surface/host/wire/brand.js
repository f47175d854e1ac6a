'use strict';
// Determines what an object *is* by its internal slots. Its prototype, `constructor` and `Symbol.toStringTag` do not matter (except in
// `mayBeRecord`), and none of its code runs. JavaScript cannot see two things. First, objects that V8 refuses and that have no accessible
// brand (weak references, iterators, Intl, Temporal and WebAssembly objects) are recognized by their prototypes. So a prototype can only
// cause a refusal here, never a different interpretation. Second, the target of a proxy stays hidden: proxies are refused, as V8 does.

const { types } = require('node:util');
const { uncurryThis, getOwnPropertyDescriptor, getPrototypeOf } = require('../../core/primordials.js');

const { isView } = ArrayBuffer;
const { toStringTag, iterator } = Symbol;
const { keys: ownEnumerableKeys } = Object;
const {
  isAnyArrayBuffer, isArgumentsObject, isBigIntObject, isBooleanObject, isBoxedPrimitive, isDate, isGeneratorObject,
  isMap, isMapIterator, isModuleNamespaceObject, isNativeError, isNumberObject, isPromise, isProxy, isRegExp, isSet,
  isSetIterator, isSharedArrayBuffer, isStringObject, isWeakMap, isWeakSet,
} = types;
// Deno has no such values.
const isExternal = types.isExternal ?? (() => false);
// Called with `call`: JavaScriptCore does not optimize an uncurried function, and these are called for every object.
const { toString: objectToString } = Object.prototype;
const ObjectPrototype = Object.prototype;

const BRAND = Object.freeze({
  /** An object with properties and nothing else. */
  ORDINARY: 0,
  REFUSED: 1,
  DATE: 2,
  MAP: 3,
  SET: 4,
  REGEXP: 5,
  ERROR: 6,
  DOM_EXCEPTION: 7,
  ARRAY_BUFFER: 8,
  SHARED_ARRAY_BUFFER: 9,
  BOOLEAN: 10,
  NUMBER: 11,
  BIGINT: 12,
  STRING: 13,
});

/** Prototypes of objects that V8 refuses and that no function can recognize. @type {Set<unknown>} */
const refusedPrototypes = new Set();
const { Intl, Iterator, Temporal, WebAssembly } = /** @type {any} */ (globalThis);
for (const holder of /** @type {object[]} */ ([globalThis, Intl, Temporal, WebAssembly])) {
  if (holder === undefined) continue;
  const names = holder === globalThis
    ? ['WeakRef', 'FinalizationRegistry', 'DisposableStack', 'AsyncDisposableStack', 'ShadowRealm']
    : Object.getOwnPropertyNames(holder);
  for (const name of names) {
    const prototype = getOwnPropertyDescriptor(holder, name)?.value?.prototype;
    if (prototype) refusedPrototypes.add(prototype);
  }
}
for (const each of [[].values(), /** @type {any} */ ('')[iterator](), 'a'.matchAll(/a/g)]) refusedPrototypes.add(getPrototypeOf(each));
if (typeof Iterator === 'function' && typeof Iterator.from === 'function') {
  refusedPrototypes.add(getPrototypeOf(Iterator.from({ next() {} })));
  refusedPrototypes.add(getPrototypeOf(Iterator.from([]).map(Number)));
}

const DOMExceptionPrototype = /** @type {any} */ (globalThis).DOMException?.prototype;
const messageGetter = DOMExceptionPrototype && getOwnPropertyDescriptor(DOMExceptionPrototype, 'message')?.get;
/** @type {((exception: object) => string) | undefined} throws for any other object */
const domExceptionMessage = messageGetter && uncurryThis(messageGetter);

/**
 * Whether an object with the prototype `Object.prototype` or null is a record if it has enumerable properties of its own. Most objects
 * are, and all checks of `certainOf` take longer than writing the properties. An object that has them, an internal slot that its text does
 * not reveal, and a prototype that was replaced counts as a record, too: a `Map`, for example.
 * @param {object} object neither array, view nor proxy
 */
const mayBeRecord = (object) => !(toStringTag in object) && objectToString.call(object) === '[object Object]' && object !== globalThis;

/** What is certain about an object: nothing; that it is ordinary; and that it also inherits no enumerable properties, except from Object.prototype. */
const CERTAIN = Object.freeze({ NOTHING: 0, ORDINARY: 1, INSTANCE: 2 });

/**
 * What is certain about an object that is neither array, view nor proxy. It is cheap, since it is called for every object. If nothing is, call
 * `brandOf`.
 * @param {object} object
 * @param {object | null} prototype of the object
 * @returns {number} one of `CERTAIN`
 */
function certainOf(object, prototype) {
  /** @type {number} */
  let certain = CERTAIN.INSTANCE;
  for (let each = prototype; each !== null && each !== ObjectPrototype; each = getPrototypeOf(each)) {
    // A proxy would observe the look-ups below.
    if (isProxy(each) || refusedPrototypes.has(each)) return CERTAIN.NOTHING;
    if (ownEnumerableKeys(each).length > 0) certain = CERTAIN.ORDINARY;
  }
  // Without a tag, the text reveals the slots of dates, errors, arguments, regular expressions and boxed primitives.
  const isOrdinary = !(toStringTag in object) && objectToString.call(object) === '[object Object]'
    && !isMap(object) && !isSet(object) && !isAnyArrayBuffer(object) && !isPromise(object) && !isBoxedPrimitive(object)
    && !isWeakMap(object) && !isWeakSet(object) && !isGeneratorObject(object) && !isMapIterator(object)
    && !isSetIterator(object) && !isExternal(object) && object !== globalThis;
  return isOrdinary ? certain : CERTAIN.NOTHING;
}

/** @param {object | null} prototype */
function hasRefusedPrototype(prototype) {
  for (let each = prototype; each !== null && each !== ObjectPrototype; each = getPrototypeOf(each)) {
    if (isProxy(each)) return false;
    if (refusedPrototypes.has(each)) return true;
  }
  return false;
}

/** @param {object} object */
function isDomException(object) {
  if (domExceptionMessage === undefined) return false;
  for (let each = getPrototypeOf(object); each !== DOMExceptionPrototype; each = getPrototypeOf(each)) {
    if (each === null || isProxy(each)) return false;
  }
  try {
    domExceptionMessage(object);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {object} object neither array, view nor proxy
 * @returns {number} one of `BRAND`
 */
function brandOf(object) {
  if (isDate(object)) return BRAND.DATE;
  if (isMap(object)) return BRAND.MAP;
  if (isSet(object)) return BRAND.SET;
  if (isRegExp(object)) return BRAND.REGEXP;
  if (isDomException(object)) return BRAND.DOM_EXCEPTION;
  if (isNativeError(object)) return BRAND.ERROR;
  if (isAnyArrayBuffer(object)) return isSharedArrayBuffer(object) ? BRAND.SHARED_ARRAY_BUFFER : BRAND.ARRAY_BUFFER;
  if (isBooleanObject(object)) return BRAND.BOOLEAN;
  if (isNumberObject(object)) return BRAND.NUMBER;
  if (isStringObject(object)) return BRAND.STRING;
  if (isBigIntObject(object)) return BRAND.BIGINT;
  const refused = isBoxedPrimitive(object) || isPromise(object) || isWeakMap(object) || isWeakSet(object)
    || isGeneratorObject(object) || isArgumentsObject(object) || isModuleNamespaceObject(object) || isMapIterator(object)
    || isSetIterator(object) || isExternal(object) || object === globalThis || hasRefusedPrototype(getPrototypeOf(object));
  return refused ? BRAND.REFUSED : BRAND.ORDINARY;
}

module.exports = {
  BRAND, brandOf, CERTAIN, certainOf, domExceptionMessage, isDate, isProxy, isRegExp, isSharedArrayBuffer, isView, mayBeRecord, ObjectPrototype,
};
