'use strict';
// What crosses with an error of the host besides its class, name, message and stack: its cause, and its own enumerable data properties that
// are primitive values. Getters and traps of proxies do not run.

const { types: { isNativeError, isProxy } } = require('node:util');
const { faultOf, isOurCode } = require('../wire/faults.js');
const { DETAIL, FAULT, MAX_CAUSES, MAX_DETAIL, MAX_DETAILS, MAX_KEYS, MAX_PROPERTIES, RESERVED_PROPERTIES } = require('../../core/protocol.js');

const { getOwnPropertyDescriptor, getPrototypeOf, hasOwn, keys } = Object;
const ErrorPrototype = Error.prototype;
const { asIntN } = BigInt;

const RESERVED = Object.freeze(Object.setPrototypeOf(Object.fromEntries(RESERVED_PROPERTIES.map((name) => [name, true])), null));
const INDEX = /^\d/;

/**
 * What the details of one error may still take, with those of its causes.
 * @typedef {{ characters: number, causes: number }} Room
 */

/**
 * The value of an own property, unless it is an accessor.
 * @param {object} object
 * @param {string} key
 */
function dataProperty(object, key) {
  const descriptor = getOwnPropertyDescriptor(object, key);
  return descriptor !== undefined && hasOwn(descriptor, 'value') ? descriptor.value : undefined;
}

/**
 * The characters that a primitive value takes; undefined if it may not cross.
 * @param {unknown} value
 */
function sizeOf(value) {
  switch (typeof value) {
    case 'string': return value.length;
    case 'bigint': return asIntN(8 * MAX_DETAIL, value) === value ? MAX_DETAIL : undefined;
    case 'object': return value === null ? 0 : undefined;
    case 'symbol': case 'function': return undefined;
    default: return 0;
  }
}

/**
 * @param {object} error
 * @param {any[]} details
 * @param {Room} room
 */
function addProperties(error, details, room) {
  const names = keys(error);
  const end = DETAIL.PROPERTIES + 2 * MAX_PROPERTIES;
  for (let index = 0; index < names.length && index < MAX_KEYS && details.length < end; index += 1) {
    const key = names[index];
    const descriptor = RESERVED[key] || INDEX.test(key) ? undefined : getOwnPropertyDescriptor(error, key);
    if (descriptor === undefined || !hasOwn(descriptor, 'value')) {
      continue;
    }
    const { value } = descriptor;
    const size = sizeOf(value);
    const isOwn = key === 'code' && typeof value === 'string' && isOurCode(value);
    if (size !== undefined && !isOwn && size <= MAX_DETAIL && key.length <= MAX_DETAIL && key.length + size <= room.characters) {
      room.characters -= key.length + size;
      details[details.length] = key;
      details[details.length] = value;
    }
  }
}

/**
 * The beginning of a cause's message or stack.
 * @param {string} text
 * @param {Room} room
 */
function fit(text, room) {
  const part = text.slice(0, Math.min(MAX_DETAIL, room.characters));
  room.characters -= part.length;
  return part;
}

/**
 * @param {unknown} cause
 * @param {boolean} showPaths
 * @param {Room} room
 * @param {object[]} outer the errors that have it as a cause
 * @returns {unknown} a primitive value or the carrier of a fault; undefined if it does not cross
 */
function causeOf(cause, showPaths, room, outer) {
  const size = sizeOf(cause);
  if (size !== undefined) {
    return size <= MAX_DETAIL ? cause : undefined;
  }
  if (typeof cause !== 'object' || cause === null || !isError(cause) || outer.includes(cause) || room.causes === 0) {
    return undefined;
  }
  room.causes -= 1;
  const fault = faultOf(cause, showPaths);
  fault[FAULT.NAME] = fault[FAULT.NAME]?.slice(0, MAX_DETAIL);
  fault[FAULT.MESSAGE] = fit(fault[FAULT.MESSAGE], room);
  fault[FAULT.STACK] = fit(fault[FAULT.STACK], room);
  fault[FAULT.DETAILS] = detailsOf(cause, showPaths, room, [...outer, cause]);
  return fault;
}

/**
 * Whether an object is an error, without running traps. A host may also throw what a guest has sent, whose keys take long to list if it is no error.
 * @param {object} object
 */
function isError(object) {
  if (isNativeError(object)) {
    return true;
  }
  /** @type {object | null} */
  let holder = object;
  while (holder !== null && holder !== ErrorPrototype && !isProxy(holder)) {
    holder = getPrototypeOf(holder);
  }
  return holder === ErrorPrototype;
}

/**
 * @param {object} error what was thrown
 * @param {boolean} showPaths whether the receiver may see the locations of this realm's code
 * @param {Room} [room]
 * @param {object[]} [outer] the error, and those that have it as a cause
 * @returns {any[] | undefined} each element at its index of DETAIL; undefined if there are none
 */
function detailsOf(error, showPaths, room = { characters: MAX_DETAILS, causes: MAX_CAUSES }, outer = [error]) {
  if (!isError(error)) {
    return undefined;
  }
  /** @type {any[]} */
  const details = [undefined];
  addProperties(error, details, room);
  const cause = dataProperty(error, 'cause');
  if (cause !== undefined) {
    details[DETAIL.CAUSE] = causeOf(cause, showPaths, room, outer);
  }
  return details.length > DETAIL.PROPERTIES || details[DETAIL.CAUSE] !== undefined ? details : undefined;
}

module.exports = { detailsOf };
