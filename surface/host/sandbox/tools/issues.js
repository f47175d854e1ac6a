'use strict';
// The messages of a failed validation of params.

const { bare } = require('../common/options.js');

/** Characters of a key and of a list of permitted values in a message. */
const MAX_KEY = 100;
const MAX_VALUES = 200;

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Names of types with what precedes them, unless that is `a`. */
const ARTICLES = Object.freeze(bare({ array: 'an array', integer: 'an integer', object: 'an object', null: 'null' }));

/**
 * The place of a value in the data.
 * @typedef {{ above: Place | undefined, key: string | number }} Place
 */

/** @param {string} type */
const withArticle = (type) => /** @type {Record<string, string>} */ (ARTICLES)[type] ?? `a ${type}`;

/**
 * A guest's key may have millions of characters, at each level of its data.
 * @param {string} key
 * @returns {string} as it follows the name of an object
 */
const accessOf = (key) => (key.length <= MAX_KEY && IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, MAX_KEY))}]`);

/** @param {Place | undefined} at */
function pathOf(at) {
  let path = '';
  for (let place = at; place !== undefined; place = place.above) {
    path = `${typeof place.key === 'number' ? `[${place.key}]` : accessOf(place.key)}${path}`;
  }
  return path;
}

/**
 * The first ones of some permitted values.
 * @param {readonly unknown[]} values
 */
function listOf(values) {
  let list = '';
  for (let index = 0; index < values.length && list.length <= MAX_VALUES; index += 1) {
    list += `${index === 0 ? '' : ', '}${JSON.stringify(values[index])}`;
  }
  return `${values.length === 1 ? '' : 'one of '}${list.length > MAX_VALUES ? `${list.slice(0, MAX_VALUES)}...` : list}`;
}

module.exports = { accessOf, listOf, pathOf, withArticle };
