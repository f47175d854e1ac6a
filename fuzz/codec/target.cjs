'use strict';
// What Jazzer.js calls: TARGET names one of values, wire and carriers.

const { ready } = require('./difference.cjs');
const { targets } = require('./targets.cjs');

const target = targets[/** @type {string} */ (process.env.TARGET)];

/** @param {Buffer} data */
module.exports.fuzz = async (data) => {
  await ready;
  target(new Uint8Array(data));
};
