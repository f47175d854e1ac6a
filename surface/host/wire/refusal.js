'use strict';
// The errors of the codec. For a value that cannot be cloned, the error has V8's message. Describing the value runs none of its code: no
// getter, no `toString`, no proxy trap.

const { types } = require('node:util');
const { MESSAGE } = require('../../core/protocol.js');
const { uncurryThis, getOwnPropertyDescriptor, getPrototypeOf, isArray } = require('../../core/primordials.js');
const { CODE, coded, refused } = require('../../core/error.js');

const { isProxy } = types;
const objectToString = Object.prototype.toString;
const functionToString = uncurryThis(Function.prototype.toString);
const symbolDescription = uncurryThis(/** @type {any} */ (getOwnPropertyDescriptor(Symbol.prototype, 'description')).get);
const slice = uncurryThis(String.prototype.slice);
const hasOwn = uncurryThis(Object.prototype.hasOwnProperty);

const MAX_LENGTH = 128;
const OMITTED = '...<omitted>...';

/**
 * The value of a data property on the prototype chain; undefined for an accessor, or if a proxy comes first.
 * @param {object} object
 * @param {PropertyKey} key
 * @returns {unknown}
 */
function dataProperty(object, key) {
  for (let holder = /** @type {object | null} */ (object); holder !== null; holder = getPrototypeOf(holder)) {
    if (isProxy(holder)) return undefined;
    const found = getOwnPropertyDescriptor(holder, key);
    if (found !== undefined) return hasOwn(found, 'value') ? found.value : undefined;
  }
  return undefined;
}

/**
 * What V8 prints for a value in its messages.
 * @param {unknown} value a symbol, function or object
 * @returns {string}
 */
function describe(value) {
  if (typeof value === 'symbol') {
    const text = symbolDescription(value) ?? '';
    return text.length > MAX_LENGTH ? `Symbol(${slice(text, 0, 56)}${OMITTED}${slice(text, -56)})` : `Symbol(${text})`;
  }
  if (typeof value === 'function') {
    const text = functionToString(value);
    return text.length > MAX_LENGTH ? slice(text, 0, 111) + OMITTED + slice(text, -2) : text;
  }
  const object = /** @type {object} */ (value);
  // V8 describes a proxy's target, which JavaScript cannot reach without running a trap.
  if (isProxy(object)) return isArray(object) ? '[object Array]' : '#<Object>';
  if (dataProperty(object, 'toString') === objectToString) {
    const maker = dataProperty(object, 'constructor');
    const name = typeof maker === 'function' ? dataProperty(maker, 'name') : undefined;
    if (typeof name === 'string' && name !== '') return `#<${name}>`;
  }
  const tag = dataProperty(object, Symbol.toStringTag);
  return `[object ${typeof tag === 'string' ? slice(tag, 0, 1000) : isArray(object) ? 'Array' : 'Object'}]`;
}

/**
 * What guests see instead of the source text of a function of this host.
 * @param {Function} value
 */
function describeWithoutSource(value) {
  const name = isProxy(value) ? undefined : getOwnPropertyDescriptor(value, 'name')?.value;
  return `function ${typeof name === 'string' ? slice(name, 0, MAX_LENGTH) : ''}() { [native code] }`;
}

/** Values that could not be cloned, by the error for them. @type {WeakMap<object, unknown>} */
const uncloneables = new WeakMap();

/** @param {unknown} value */
function uncloneable(value) {
  const error = refused(`${describe(value)} could not be cloned.`);
  uncloneables.set(error, value);
  return error;
}

/**
 * @param {any} error
 * @returns {unknown} the value that could not be cloned, if the error is about one; a getter may have created it
 */
const uncloneableOf = (error) => uncloneables.get(error);

/**
 * The message for guests if an error is about a function that could not be cloned: its own message has the function's source.
 * @param {object} error
 * @returns {string | undefined}
 */
function messageWithoutSource(error) {
  const value = uncloneables.get(error);
  return typeof value === 'function' ? `${describeWithoutSource(value)} could not be cloned.` : undefined;
}

const detached = () => refused(MESSAGE.DETACHED);

/** @param {string} message */
const beyond = (message) => coded(/** @type {ErrorConstructor} */ (RangeError), message, CODE.LIMIT);

/** @param {number} limit */
const tooDeep = (limit) => beyond(`Value is nested too deeply: the limit is ${limit} levels`);

/** @param {number} limit */
const tooLarge = (limit) => beyond(`Value is too large: the limit is ${limit} bytes`);

/** @param {number} limit */
const tooHeavy = (limit) => beyond(`Value would take too much memory: the limit is ${limit} bytes`);

/**
 * An error for bytes that an honest writer may produce, but that cannot be read here.
 * @param {string} reason
 */
const unreadable = (reason) => coded(Error, `Unable to deserialize cloned data: ${reason}`, CODE.TRANSFER);

/** @type {WeakSet<Error>} */
const malformations = new WeakSet();

/**
 * An error for bytes that no honest writer produces.
 * @param {string} reason
 */
function malformed(reason) {
  const error = unreadable(reason);
  malformations.add(error);
  return error;
}

/** @param {any} error */
const isMalformation = (error) => malformations.has(error);

module.exports = { uncloneableOf, describeWithoutSource, detached, isMalformation, malformed, messageWithoutSource, tooDeep, tooHeavy, tooLarge, uncloneable, unreadable };
