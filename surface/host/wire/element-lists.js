'use strict';
// Whether a large array has enumerable properties besides its elements. All ways to list these in JavaScript list the elements, too, and make a string of
// each index. Node's `isDeepStrictEqual` compares the other properties of two arrays before their elements, without listing those.

const { isDeepStrictEqual } = require('node:util');
const { getOwnPropertyDescriptor, hasOwn } = require('../../core/primordials.js');

const { toStringTag } = Symbol;
const ArrayPrototype = Array.prototype;

/** Listing the keys of fewer elements takes no longer. */
const MIN_ELEMENTS = 1024;

/** Node compiles the function when it is first called, which takes as long as listing the keys of this many elements. */
const MIN_LISTED = 65_536;
let listed = 0;

/** Bun and Deno have functions of their own in place of Node's. */
const isNode = process.versions.bun === undefined && !('Deno' in globalThis);

let isRead = false;
/** Equal to no element. */
const unequal = Symbol('unequal');
/** An array without other properties that shows whether its first element is read. The others are missing, so its length takes no memory. */
const probe = Object.defineProperty([undefined], 0, { get() { isRead = true; return unequal; }, enumerable: true });

/**
 * Whether a comparison would run code of the program. It reads the first elements, the classes and the tags.
 * @param {unknown[]} array
 */
const runsCode = (array) => getOwnPropertyDescriptor(array, 0)?.value === undefined || hasOwn(array, 'constructor') || toStringTag in array
  || getOwnPropertyDescriptor(ArrayPrototype, 'constructor')?.value === undefined;

/**
 * Whether an array is known to have no enumerable properties besides its elements.
 * @param {unknown[]} array with the prototype `Array.prototype`
 */
function hasOnlyElements(array) {
  if (!isNode || array.length < MIN_ELEMENTS || runsCode(array)) return false;
  if (listed < MIN_LISTED) {
    listed += array.length;
    return false;
  }
  probe.length = array.length;
  isRead = false;
  isDeepStrictEqual(probe, array);
  return isRead;
}

module.exports = { hasOnlyElements };
