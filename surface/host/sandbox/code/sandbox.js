'use strict';
// `createSandbox`: runs AI-written code, to which host functions look synchronous.

const { now } = require('../../clock.js');
const { defineDisposal } = require('../../../core/classes.js');
const { CODE } = require('../../../core/error.js');
const { observed } = require('../../diagnostics.js');
const { FLAG } = require('../../protocol.js');
const { DISPOSED, gone, refusedBy, reported } = require('../common/execution.js');
const { Executions } = require('../common/executions.js');
const { failureOf } = require('../common/failure.js');
const { readInspector, readModules } = require('../common/features.js');
const { shadowed } = require('../common/normalize.js');
const { bounded, callCounter } = require('../common/quota.js');
const { formedReadingOf } = require('../common/reading.js');
const { explained } = require('../common/syntax.js');
const { MIN_MEMORY } = require('../../../core/protocol.js');
const {
  bare, checkOptions, COMMON, own, readBoolean, readConsole, readEnvironment, readMemory, readNumber, readPoolSize, readQuota, readSignal, readWeb, SIGNAL, wrong,
} = require('../common/options.js');

const OPTIONS = Object.freeze(['timeout', 'memoryLimit', 'timers', 'inspector', 'warm', ...COMMON]);
const CONSOLE = Object.freeze({ entries: 100, length: 1_000 });
const DEFAULT = Object.freeze({ timeout: 30_000, memoryLimit: 32 });
const QUOTA = Object.freeze({ output: 1_048_576, calls: 50 });

/**
 * The default of `memoryLimit` in megabytes, which an environment variable may change.
 * @returns {number}
 */
function defaultMemory() {
  const set = Number(readEnvironment('SANDBOX_MEMORY_MB'));
  return set >= MIN_MEMORY ? Math.trunc(set) : DEFAULT.memoryLimit;
}

/**
 * @param {import('../common/execution.js').Execute} execute
 * @param {import('../common/typescript.js').Strip} strip
 * @param {import('../common/snapshot.js').ReadSnapshot} readSnapshot
 */
function createSandboxFactory(execute, strip, readSnapshot) {
  /**
   * @param {Record<string, unknown>} globals
   * @param {any} [options]
   */
  return function createSandbox(globals, options) {
    if (typeof globals !== 'object' || globals === null) {
      throw wrong('globals', 'an object');
    }
    const settings = checkOptions(options, OPTIONS);
    const timeout = readNumber(settings, 'timeout', DEFAULT.timeout, 1);
    const quota = readQuota(settings, QUOTA);
    const limitsCalls = (own(settings, 'maxApiCalls') ?? undefined) !== undefined;
    const memoryLimit = readMemory(settings, defaultMemory());
    const console = readConsole(settings, CONSOLE);
    const typescript = readBoolean(settings, 'typescript');
    const flags = FLAG.SHADOW_GLOBAL | (readBoolean(settings, 'timers') ? FLAG.TIMERS : 0);
    const web = readWeb(settings);
    const inspect = readInspector(settings);
    const modules = readModules(settings, typescript);
    const warm = readPoolSize(settings);
    const snapshot = readSnapshot(settings, memoryLimit);

    /** @type {import('../common/executions.js').SandboxExecutions<import('../common/execution.js').Execution>} */
    const executions = new Executions();
    const stripping = executions.ending(strip);

    /**
     * @param {string} code
     * @param {any} [request] options of this execution
     */
    async function run(code, request) {
      const start = now();
      const isGone = executions.begin();
      const api = { calls: 0, exists: false, isForAll: limitsCalls, count: callCounter(quota.calls) };
      /** @type {import('../common/execution.js').Outcome} */
      let outcome;
      /** @type {import('../common/execution.js').Execution | undefined} */
      let current;
      try {
        if (typeof code !== 'string') {
          throw wrong('code', 'a string');
        }
        const signal = readSignal(checkOptions(request, SIGNAL));
        const { failure, body, forms, modules: importable, left = timeout } = await formedReadingOf({ code, typescript, modules, mainOf: shadowed, timeout, signal }, stripping);
        outcome = isGone() ? gone() : failure ?? await execute({
          code: body,
          forms,
          modules: importable,
          flags,
          web,
          memoryLimit,
          timeout: left,
          maxOutputSize: quota.output,
          console,
          globals: Object.keys(globals).length === 0 ? undefined : require('../common/globals.js').bridgeGlobals(globals, api),
          tools: [],
          warm,
          snapshot,
          signal,
          inspect,
          onStart: (started) => {
            current = started;
            executions.add(started);
          },
        });
        outcome = await bounded(explained(outcome, code, typescript), quota.output, { signal, until: inspect === undefined ? start + timeout : Infinity, isGone });
      } catch (error) {
        outcome = { ok: false, ...refusedBy(error), logs: [], lost: 0 };
      } finally {
        executions.remove(current);
      }
      const durationMs = Math.round(now() - start);
      // It inherits no properties, so what it does not have is undefined.
      outcome = bare({ ...outcome });
      const { logs, ok, value } = outcome;
      const more = { durationMs, ...(api.exists ? { apiCallCount: api.calls } : {}), ...reported(outcome) };
      if (ok) {
        return { result: value, logs, ...more };
      }
      const error = outcome.code === CODE.DEADLINE ? `Execution timed out after ${timeout}ms`
        : isGone() && outcome.code === CODE.DISPOSED ? DISPOSED : String(value);
      return { result: null, error, failure: failureOf(outcome, typeof code === 'string' ? code : '', error, modules?.texts), logs, ...more };
    }

    /**
     * @param {string} code
     * @param {any} [request]
     */
    const followed = (code, request) => observed('createSandbox', { timeout, memoryLimit }, code, () => executions.follow(run(code, request)));

    /** Ends running executions. */
    function dispose() {
      executions.dispose();
    }

    /** Ends running executions; later ones resolve with an error at once. */
    async function close() {
      await executions.close();
    }

    const sandbox = { execute: followed, dispose, close };
    defineDisposal(sandbox, close);
    return Object.freeze(sandbox);
  };
}

module.exports = { createSandboxFactory };
