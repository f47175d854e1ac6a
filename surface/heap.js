'use strict';
// Heap statistics of an isolate, with the names of isolated-vm.

const { define, freeze } = require('./primordials.js');

/** Names of the native side's figures, in its order. */
const HEAP_STATISTICS = freeze([
  'total_heap_size', 'total_heap_size_executable', 'total_physical_size', 'total_available_size', 'used_heap_size',
  'heap_size_limit', 'malloced_memory', 'peak_malloced_memory', 'does_zap_garbage', 'externally_allocated_size',
  'total_global_handles_size', 'used_global_handles_size', 'number_of_native_contexts', 'number_of_detached_contexts',
]);

/**
 * @param {ArrayLike<number>} figures
 * @returns {Record<string, number>}
 */
function named(figures) {
  const statistics = {};
  for (let index = 0; index < HEAP_STATISTICS.length; index += 1) {
    define(statistics, /** @type {string} */ (HEAP_STATISTICS[index]), figures[index], true, true);
  }
  return statistics;
}

module.exports = freeze({ named });
