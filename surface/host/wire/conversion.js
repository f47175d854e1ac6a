'use strict';
// Marks conversions of the host's values to text. A value may have a function of a guest, such as a `toString` or `toJSON` that a guest sent as a
// `Callback`. A call of it takes as long as the guest likes, so functions of guests refuse calls during such a conversion.

const { freeze } = require('../../core/primordials.js');
const { EndOfTurn } = require('./end-of-turn.js');

/** Conversions that are nested in each other. */
let depth = 0;
const endOfTurn = new EndOfTurn(() => { depth = 0; });

/**
 * Converts a value.
 * @template T
 * @template R
 * @param {(value: T) => R} convert
 * @param {T} value
 * @returns {R}
 * @throws what `convert` throws
 */
function converted(convert, value) {
  endOfTurn.expect();
  depth += 1;
  try {
    return convert(value);
  } finally {
    depth -= 1;
  }
}

/** Whether a conversion runs. */
const isConverting = () => depth > 0;

module.exports = freeze({ converted, isConverting });
