'use strict';
// Notes about the large containers that the reader has made. JavaScript has no way to go through the keys of an object, or the named
// keys of an array, bit by bit: `Object.keys`, `for … in` and spread all make a list of every key first. So the reader keeps the keys of
// a large container as it reads them, for those who look through the value afterwards.

const { weakMapGet, weakMapSet } = require('../../primordials.js');

/** A container with more elements and keys than this has a note. One without a note is small, or not made by the reader. */
const MAX_WITHOUT_NOTE = 1024;

/**
 * @typedef {object} Note
 * @property {ArrayLike<string | number>} keys of an array: those that it has beside its elements; of a sparse array and of an object: all
 * @property {boolean} isSparse its elements are among the keys
 */

/** @type {WeakMap<object, Note>} */
const notes = new WeakMap();

/**
 * @param {object} container
 * @param {ArrayLike<string | number>} keys
 * @param {boolean} isSparse
 */
function note(container, keys, isSparse) {
  weakMapSet(notes, container, { keys, isSparse });
}

/**
 * @param {object} container
 * @returns {Note | undefined}
 */
const noteOf = (container) => weakMapGet(notes, container);

/** A value of more bytes than this has a note if it is a tree: measuring it again would take longer than reading did. */
const MIN_TREE = 65_536;

/** @type {WeakMap<object, number>} */
const trees = new WeakMap();

/**
 * Notes that a value was read from so many bytes, which name nothing twice and have nothing beside them.
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
 * @returns {number} Infinity for what is none
 */
const treeBytes = (value) => weakMapGet(trees, value) ?? Infinity;

module.exports = { MAX_WITHOUT_NOTE, note, noteOf, noteTree, treeBytes };
