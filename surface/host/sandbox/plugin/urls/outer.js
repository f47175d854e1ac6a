'use strict';
// The position of a container in the arguments of a call, which gives its parts a meaning.

/**
 * A container that the visitor is in.
 * @typedef {object} Outer
 * @property {boolean} isPlace whether its elements are URLs
 * @property {boolean} isEntry whether it is a key and its value
 * @property {boolean} isHeaders whether it is a list of names and values in turn
 * @property {boolean} isList
 * @property {boolean} isProxy whether it names a proxy
 * @property {boolean} isInHeaders whether it is in headers: a host in it is not the one to connect to
 * @property {any} within the container that it is a part of
 * @property {Outer | undefined} outer the next one
 */

/** @type {Outer} */
const ARGUMENTS = Object.freeze({ isPlace: true, isEntry: false, isHeaders: false, isProxy: false, isList: false, isInHeaders: false, within: undefined, outer: undefined });

/**
 * The meaning that the position of a container gives to its parts, as bits.
 * @param {Outer} outer
 */
const bitsOf = ({ isPlace, isEntry, isHeaders, isProxy }) => (isPlace ? 1 : 0) | (isEntry ? 2 : 0) | (isHeaders ? 4 : 0) | (isProxy ? 8 : 0);

module.exports = { ARGUMENTS, bitsOf };
