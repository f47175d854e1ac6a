'use strict';
// `createSandbox`: AI-written code with host functions that look synchronous to it.

const { performance } = require('node:perf_hooks');
const { CODE } = require('../../error.js');
const { bridgeGlobals } = require('./globals.js');
const { FLAG } = require('./execution.js');
const { functionForm, normalBody } = require('./normalize.js');
const { sizeOf } = require('./size.js');
const { checkOptions, readBoolean, readEnvironment, readMemory, readNumber, wrong } = require('./options.js');

const DEFAULT = Object.freeze({ timeout: 30_000, maxOutputSize: 1_048_576, maxApiCalls: 50, memoryLimit: 32 });

/**
 * The default of `memoryLimit` in megabytes, which the environment may change.
 * @returns {number}
 */
function defaultMemory() {
  const set = Number(readEnvironment('SANDBOX_MEMORY_MB'));
  return set >= 8 ? Math.trunc(set) : DEFAULT.memoryLimit;
}

/** @param {import('./execution.js').Execute} execute */
function createSandboxFactory(execute) {
  /**
   * @param {Record<string, unknown>} globals
   * @param {any} [options]
   */
  return function createSandbox(globals, options) {
    if (typeof globals !== 'object' || globals === null) {
      throw wrong('globals', 'an object');
    }
    const settings = checkOptions(options);
    const timeout = readNumber(settings, 'timeout', DEFAULT.timeout, 1);
    const maxOutputSize = readNumber(settings, 'maxOutputSize', DEFAULT.maxOutputSize, 0);
    const maxApiCalls = readNumber(settings, 'maxApiCalls', DEFAULT.maxApiCalls, 0);
    const memoryLimit = readMemory(settings, defaultMemory());
    const flags = FLAG.SHADOW_GLOBAL | (readBoolean(settings, 'timers') ? FLAG.TIMERS : 0);

    /** @param {string} code */
    async function run(code) {
      const start = performance.now();
      const api = { calls: 0, limit: maxApiCalls, exists: false };
      /** @type {import('./execution.js').Outcome} */
      let outcome;
      try {
        if (typeof code !== 'string') {
          throw wrong('code', 'a string');
        }
        outcome = await execute({
          code: normalBody(code),
          function: functionForm(code),
          flags,
          memoryLimit,
          timeout,
          maxOutputSize,
          globals: bridgeGlobals(globals, api),
          tools: [],
        });
        if (outcome.ok) {
          const size = sizeOf(outcome.value, maxOutputSize);
          if (size > maxOutputSize) {
            const amount = size === Infinity ? `more than ${maxOutputSize}` : size;
            const value = `Result of ${amount} bytes exceeds the maximum output size of ${maxOutputSize} bytes`;
            outcome = { ...outcome, ok: false, value };
          }
        }
      } catch (error) {
        outcome = { ok: false, value: error instanceof Error ? error.message : String(error), code: undefined, logs: [] };
      }
      const durationMs = Math.round(performance.now() - start);
      const counted = api.exists ? { apiCallCount: api.calls } : {};
      if (outcome.ok) {
        return { result: outcome.value, logs: outcome.logs, durationMs, ...counted };
      }
      const error = outcome.code === CODE.DEADLINE ? `Execution timed out after ${timeout}ms` : String(outcome.value);
      return { result: null, error, logs: outcome.logs, durationMs, ...counted };
    }

    return Object.freeze({ execute: run });
  };
}

module.exports = { createSandboxFactory };
