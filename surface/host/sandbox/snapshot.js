'use strict';
// The option `snapshot`: what executions find in their heaps before their code runs.

const { bare, own } = require('./options.js');
const { TRANSFER } = require('../../protocol.js');
const { readSnapshot } = require('../../snapshot.js');

/**
 * @typedef {(options: Record<string, any>, memoryLimit: number) => object | undefined} ReadSnapshot gives an ExternalCopy of its own, which stays
 *   whatever becomes of the one in the options; undefined where there is none
 */

/**
 * @param {import('../../index.js').Core} core
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
