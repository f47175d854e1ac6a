'use strict';
// What Jazzer.js calls: TARGET names one of values, wire and carriers.

const { ready } = require('./difference.cjs');
const { targets } = require('./targets.cjs');

/** Unpacked carriers may hold promises that are never awaited. */
process.on('unhandledRejection', (reason) => {
  if (!(reason instanceof Error) || reason.message !== 'Promise was abandoned') throw reason;
});

const target = targets[/** @type {string} */ (process.env.TARGET)];

/** @param {Buffer} data */
module.exports.fuzz = async (data) => {
  await ready;
  target(new Uint8Array(data));
};
