'use strict';
// `normalizeCode`: converts code that models write to an async arrow function. V8's parser determines what it is.

const { arrowOf } = require('../common/normalize.js');
const { wrong } = require('../common/options.js');

/** Megabytes of the isolate that parses. */
const MEMORY_LIMIT = 128;

/** @param {(memoryLimit: number) => any} make creates an isolate */
function createNormalizeCode(make) {
  /**
   * @param {string} code
   * @returns {string}
   */
  return function normalizeCode(code) {
    if (typeof code !== 'string') {
      throw wrong('code', 'a string');
    }
    const isolate = make(MEMORY_LIMIT);
    try {
      return arrowOf(code, (body) => {
        try {
          isolate.compileScriptSync(`(function () {${body}\n})`).release();
          return true;
        } catch {
          return false;
        }
      });
    } finally {
      // It has ended if the code takes too much memory.
      if (!isolate.isDisposed) {
        isolate.dispose();
      }
    }
  };
}

module.exports = { createNormalizeCode };
