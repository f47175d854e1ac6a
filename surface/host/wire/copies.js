'use strict';
// Copies among the rows of a table (`ExternalCopy.copyInto()` inside a value). Each has bytes and a table of its own, and a guest may send one many
// times. So they are a part of the value around them: the same budgets of time and memory apply, and reading pauses in them, too.

const { TAG } = require('../../core/protocol.js');
const { isArray } = require('../../core/primordials.js');

/**
 * @param {unknown} row of a table
 * @returns {row is [number, Uint8Array, unknown[]]}
 */
const isCopy = (row) => isArray(row) && row[0] === TAG.WIRE;

/** @param {unknown[]} table */
function hasCopies(table) {
  for (let index = 0; index < table.length; index++) if (isCopy(table[index])) return true;
  return false;
}

/**
 * The native side may use the memory of a value again, and that of the copies in its table.
 * @param {Uint8Array} bytes
 * @param {unknown[]} table
 */
function free(bytes, table) {
  bytes[0] = 0;
  for (let index = 0; index < table.length; index++) {
    const row = table[index];
    if (isCopy(row)) free(row[1], row[2]);
  }
}

module.exports = { free, hasCopies, isCopy };
