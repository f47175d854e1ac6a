'use strict';
// The option `snapshot`: the heap that each execution starts from.

const { bare, own } = require('./options.js');
const { TRANSFER } = require('../../../core/protocol.js');
const { readSnapshot } = require('../../../core/options.js');

/**
 * @typedef {(options: Record<string, any>, memoryLimit: number) => object | undefined} ReadSnapshot returns a separate ExternalCopy, which
 *   remains even if the one in the options is released; undefined if there is none
 */

/**
 * @param {import('../../../index.js').Core} core
 * @param {any} environment the native one
 * @returns {ReadSnapshot}
 */
function createReadSnapshot({ binding }, environment) {
  return function readOwnSnapshot(options, memoryLimit) {
    const snapshot = readSnapshot(bare({ snapshot: own(options, 'snapshot') }));
    if (snapshot === undefined) {
      return undefined;
    }
    return binding.unpack(environment.keepSnapshot(memoryLimit, binding.pack(snapshot, TRANSFER.DEFAULT)), readOwnSnapshot);
  };
}

module.exports = { createReadSnapshot };
