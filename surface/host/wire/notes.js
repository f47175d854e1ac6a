'use strict';
// What the reader remembers of the large containers that it has made. JavaScript cannot iterate over the keys of an object, or the named keys of an
// array, in pieces: `Object.keys`, `for … in` and spread all make a list of every key first. So the reader keeps the keys of a large
// container as it reads them, for code that visits the value later.

const { weakMapGet, weakMapSet } = require('../../core/primordials.js');

/** A container with more elements and keys than this has a note. Others are small, or were not made by the reader. */
const MAX_WITHOUT_NOTE = 1024;

/**
 * @typedef {object} Note
 * @property {ArrayLike<string | number>} keys for an array: the keys after its first elements; for an object: all keys
 * @property {number} elements number of the first elements of an array, which are not among the keys; 0 for an object
 */

/** @type {WeakMap<object, Note>} */
const notes = new WeakMap();

/**
 * @param {object} container
 * @param {ArrayLike<string | number>} keys
 * @param {number} elements
 */
function note(container, keys, elements) {
  weakMapSet(notes, container, { keys, elements });
}

/**
 * @param {object} container
 * @returns {Note | undefined}
 */
const noteOf = (container) => weakMapGet(notes, container);

/** A value that is read from more bytes than this has a note if it is a tree, since measuring it again would take longer than reading it. */
const MIN_TREE = 65_536;

/** @type {WeakMap<object, number>} */
const trees = new WeakMap();

/**
 * Notes that a value was read from this many bytes, and is a tree: the bytes contain no reference, and refer to nothing outside.
 * @param {any} value
 * @param {number} bytes
 */
function noteTree(value, bytes) {
  if (bytes > MIN_TREE && typeof value === 'object' && value !== null) {
    weakMapSet(trees, value, bytes);
  }
}

/**
 * Bytes that a large tree was read from.
 * @param {object} value
 * @returns {number} Infinity for any other value
 */
const treeBytes = (value) => weakMapGet(trees, value) ?? Infinity;

/** A value that takes fewer bytes of memory than this has no note of them: the number of calls bounds what such values take together. */
const MIN_WEIGHT = 16_384;

/** @type {WeakMap<object, number>} */
const weights = new WeakMap();

/**
 * Notes how many bytes of memory a value takes.
 * @param {any} value
 * @param {number} bytes
 */
function noteWeight(value, bytes) {
  if (bytes >= MIN_WEIGHT && typeof value === 'object' && value !== null) {
    weakMapSet(weights, value, bytes);
  }
}

/**
 * The bytes of memory that a value takes that was read.
 * @param {object} value
 * @returns {number} 0 for a small value, and for one that is a part of another
 */
const weightOf = (value) => weakMapGet(weights, value) ?? 0;

module.exports = { MAX_WITHOUT_NOTE, MIN_WEIGHT, note, noteOf, noteTree, noteWeight, treeBytes, weightOf };
