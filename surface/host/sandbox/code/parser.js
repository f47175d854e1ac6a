'use strict';
// `normalizeCode`: converts code that models write to an async arrow function. V8's parser determines what it is.

const { disposeOf } = require('../common/disposal.js');
const { arrowOf } = require('../common/normalize.js');
const { bare, checkOptions, readBoolean, readSignal, SIGNAL, wrong } = require('../common/options.js');
const { TextTurns } = require('../common/text-turns.js');

/** Megabytes of the isolate that parses. */
const MEMORY_LIMIT = 128;

const OPTIONS = Object.freeze(['async', ...SIGNAL]);

/** @param {string} body */
const scriptOf = (body) => `(function () {${body}\n})`;

/**
 * @param {any} isolate
 * @param {string} body
 */
function compiles(isolate, body) {
  try {
    isolate.compileScriptSync(scriptOf(body)).release();
    return true;
  } catch {
    return false;
  }
}

/**
 * The same without blocking the event loop.
 * @param {any} isolate
 * @param {string} body
 * @param {import('../../calls/signals.js').Signal | undefined} signal
 * @throws the signal's reason
 */
async function compilesLater(isolate, body, signal) {
  try {
    (await isolate.compileScript(scriptOf(body), bare({ signal }))).release();
    return true;
  } catch {
    if (signal?.aborted) {
      throw signal.reason;
    }
    return false;
  }
}

/** @param {(memoryLimit: number) => any} make creates an isolate */
function createNormalizeCode(make) {
  const turns = new TextTurns();

  /** @param {string} code */
  function normalizeNow(code) {
    const isolate = make(MEMORY_LIMIT);
    try {
      const parsing = arrowOf(code);
      let step = parsing.next();
      while (!step.done) {
        step = parsing.next(compiles(isolate, step.value));
      }
      return step.value;
    } finally {
      disposeOf(isolate);
    }
  }

  /**
   * @param {string} code
   * @param {import('../../calls/signals.js').Signal | undefined} signal
   */
  async function normalizeLater(code, signal) {
    const isolate = make(MEMORY_LIMIT);
    try {
      const parsing = arrowOf(code);
      let step = parsing.next();
      while (!step.done) {
        step = parsing.next(await compilesLater(isolate, step.value, signal));
      }
      return step.value;
    } finally {
      disposeOf(isolate);
    }
  }

  /**
   * @param {string} code
   * @param {any} [options]
   * @returns {string | Promise<string>} a promise if the options say so
   */
  return function normalizeCode(code, options = undefined) {
    if (typeof code !== 'string') {
      throw wrong('code', 'a string');
    }
    const settings = checkOptions(options, OPTIONS);
    const signal = readSignal(settings);
    if (readBoolean(settings, 'async')) {
      return turns.run(code.length, Infinity, signal, () => normalizeLater(code, signal));
    }
    if (signal !== undefined) {
      throw wrong('signal', 'used with `async: true`');
    }
    return normalizeNow(code);
  };
}

module.exports = { createNormalizeCode };
