'use strict';
// Values of the host as data.

const { types } = require('node:util');
const { discard, discardWithin } = require('../../host-calls.js');

/**
 * A value as data. If it cannot be cloned, it loses everything that JSON cannot represent.
 * @param {unknown} value
 * @param {string} origin of the value, for promises in it
 */
function plain(value, origin) {
  try {
    return structuredClone(value);
  } catch {
    return plainJson(value, origin);
  }
}

/**
 * What the JSON of a value represents; undefined if it has none.
 * @param {unknown} value
 * @param {string} origin of the value, for promises in it
 */
function plainJson(value, origin) {
  discardWithin(origin, value);
  const json = JSON.stringify(value, (_, each) => {
    // It comes from a getter or `toJSON`.
    if (types.isPromise(each)) {
      discard(origin, each);
    }
    return each;
  });
  return json === undefined ? undefined : JSON.parse(json);
}

module.exports = { plain, plainJson };
