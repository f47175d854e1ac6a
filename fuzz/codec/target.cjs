'use strict';
// What Jazzer.js calls: TARGET names one of values, wire and carriers.

const { ready } = require('./difference.cjs');
const { targets } = require('./targets.cjs');

/** Carriers that are unpacked may hold promises, for which nobody waits. */
process.on('unhandledRejection', (reason) => {
  if (!(reason instanceof Error) || reason.message !== 'Promise was abandoned') throw reason;
});

const target = targets[/** @type {string} */ (process.env.TARGET)];

/** @param {Buffer} data */
module.exports.fuzz = async (data) => {
  await ready;
  target(new Uint8Array(data));
};
