'use strict';
// Converts values of the host to plain data.

const { types } = require('node:util');
const { CODE } = require('../../../core/error.js');
const { kindOf } = require('../../../core/handle.js');
const { createClone } = require('../../values/clone.js');
const { converted } = require('../../wire/conversion.js');
const { discard, discardWithin } = require('../../calls/host-calls.js');
const { hideSource } = require('../../wire/faults.js');
const { uncloneable } = require('../../wire/refusal.js');

// `structuredClone` would convert the message of an error to text, which takes any time if the message is an array that a guest has made. The copy of
// an error is not known to be about a function.
const { clone, write } = createClone((object) => {
  if (kindOf(object) !== -1) {
    throw uncloneable(object);
  }
}, undefined, undefined, hideSource);

/**
 * Throws if a value cannot be cloned.
 * @param {unknown} value
 */
function checkCloneable(value) {
  write(value);
}

/**
 * A copy of a value, as data. If it cannot be cloned, it loses everything that JSON cannot represent.
 * @param {unknown} value
 * @param {string} origin of the value, for promises in it
 */
function plain(value, origin) {
  try {
    return clone(value);
  } catch (error) {
    // Copying it fails, too, and says why.
    return /** @type {any} */ (error)?.code === CODE.LIMIT ? value : plainJson(value, origin);
  }
}

/**
 * What the JSON of a value represents; undefined if it has none. A `toJSON` of a guest refuses to be called.
 * @param {unknown} value
 * @param {string} origin of the value, for promises in it
 */
function plainJson(value, origin) {
  discardWithin(origin, value);
  const json = converted((whole) => JSON.stringify(whole, (_, each) => {
    // It comes from a getter or `toJSON`.
    if (types.isPromise(each)) {
      discard(origin, each);
    }
    return each;
  }), value);
  return json === undefined ? undefined : JSON.parse(json);
}

module.exports = { checkCloneable, plain, plainJson };
