'use strict';
// Heap statistics of an isolate, with the names of isolated-vm.

const { define, entries, freeze } = require('../core/primordials.js');
const { HEAP_STATISTIC } = require('../core/protocol.js');

const NAMES = freeze(entries(HEAP_STATISTIC));

/**
 * @param {ArrayLike<number>} figures
 * @returns {Record<string, number>}
 */
function named(figures) {
  const statistics = {};
  for (let index = 0; index < NAMES.length; index += 1) {
    const entry = /** @type {[string, number]} */ (NAMES[index]);
    define(statistics, entry[0], figures[entry[1]], true, true);
  }
  return statistics;
}

module.exports = freeze({ named });
