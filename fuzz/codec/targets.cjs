'use strict';
// The targets by name. Each accepts any bytes, and throws for a bug.

const ivm = require('../../index.js');
const native = require('../../loader/native.js');
const { checkCarriers } = require('./carriers.cjs');
const { checkValue } = require('./values.cjs');
const { checkWire } = require('./wire.cjs');

/** @type {Readonly<Record<string, (bytes: Uint8Array) => void>>} */
const targets = Object.freeze({
  values: (bytes) => checkValue(ivm, bytes),
  wire: checkWire,
  carriers: (bytes) => checkCarriers(native, bytes),
});

module.exports = { targets };
