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

module.exports = { MAX_WITHOUT_NOTE, note, noteOf };
