'use strict';
// Converts values of the host to plain data.

const { types } = require('node:util');
const { CODE, coded } = require('../../../core/error.js');
const { kindOf } = require('../../../core/handle.js');
const { getOwnPropertyDescriptor, hasOwn, isArray, uncurryThis } = require('../../../core/primordials.js');
const { createClone } = require('../../values/clone.js');
const { converted } = require('../../wire/conversion.js');
const { discard, discardWithin } = require('../../calls/host-calls.js');
const { hideSource } = require('../../wire/faults.js');
const { uncloneable } = require('../../wire/refusal.js');

const valueOfString = uncurryThis(String.prototype.valueOf);

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
 * Most parts of the JSON of a value that take little or no memory in the value: what is in further occurrences of an object, elements of typed
 * arrays, and holes of arrays. A value of a guest can have so many of them that its JSON fills any memory.
 */
const MAX_EXPANDED = 1_000_000;
/** Characters of a text or a key that count as a part. */
const CHARACTERS_PER_PART = 64;
/** What a date counts that has occurred before: its text is made again. */
const PARTS_PER_DATE = 8;
const EXPANDED = 'Value is too large as JSON: it has the same objects in too many places, or too many elements of typed arrays or holes of arrays';

/**
 * The date that a part is the text of.
 * @param {any} holder
 * @param {string} key
 * @param {any} part
 */
function dateOf(holder, key, part) {
  if (typeof part !== 'string' || part[part.length - 1] !== 'Z') {
    return undefined;
  }
  const given = getOwnPropertyDescriptor(holder, key)?.value;
  return types.isDate(given) ? given : undefined;
}

/**
 * A replacer for one JSON text. It discards promises, and limits how much larger than the value the text may be.
 * @param {string} origin of the value, for promises in it
 * @returns {(this: any, key: string, part: any) => unknown}
 */
function plainReplacer(origin) {
  const seen = new Set();
  /** Objects that have occurred more than once. */
  const repeated = new Set();
  let left = MAX_EXPANDED;
  return function replace(key, part) {
    if (repeated.size > 0 && repeated.has(this)) {
      left -= 1 + (key.length + (typeof part === 'string' ? part.length : 0)) / CHARACTERS_PER_PART;
    } else if (part === undefined && isArray(this) && !hasOwn(this, key)) {
      left -= 1;
    }
    const date = dateOf(this, key, part);
    if (date !== undefined) {
      left -= seen.has(date) ? PARTS_PER_DATE : 0;
      seen.add(date);
    }
    if (typeof part === 'object' && part !== null) {
      (seen.has(part) ? repeated : seen).add(part);
      // It has no parts of its own.
      left -= types.isStringObject(part) && repeated.has(part) ? valueOfString(part).length / CHARACTERS_PER_PART : 0;
      left -= types.isTypedArray(part) ? part.length : 0;
      // It comes from a getter or `toJSON`.
      if (types.isPromise(part)) {
        discard(origin, part);
      }
    }
    if (left < 0) {
      throw coded(/** @type {ErrorConstructor} */ (RangeError), EXPANDED, CODE.LIMIT);
    }
    return part;
  };
}

/**
 * What the JSON of a value represents; undefined if it has none. A `toJSON` of a guest refuses to be called.
 * @param {unknown} value
 * @param {string} origin of the value, for promises in it
 * @throws {RangeError} `ERR_ISOLATE_LIMIT` if that is much larger than the value
 */
function plainJson(value, origin) {
  discardWithin(origin, value);
  const json = converted((whole) => JSON.stringify(whole, plainReplacer(origin)), value);
  return json === undefined ? undefined : JSON.parse(json);
}

module.exports = { checkCloneable, plain, plainJson };
