'use strict';
// `AgentSandbox`: runs an AI agent's code, with tools that the code calls as `namespace.method(params)`.

const { now } = require('../../clock.js');
const { CODE } = require('../../../core/error.js');
const { named } = require('../../../api/heap.js');
const { FLAG } = require('../../protocol.js');
const { DISPOSED: GONE, gone, reported } = require('../common/execution.js');
const { Executions } = require('../common/executions.js');
const { observed } = require('../../diagnostics.js');
const { failureOf } = require('../common/failure.js');
const { readInspector, readModules } = require('../common/features.js');
const {
  bare, checkOptions, COMMON, defaultOutput, readBoolean, readConsole, readEnvironment, readListed, readMemory, readNumber, readPoolSize, readQuota, readSignal, readWeb,
  SIGNAL, wrong,
} = require('../common/options.js');
const { bodyAfter, readingOf } = require('../common/bodies.js');
const { readCalling, readTools, TOOL_OPTIONS, ToolCalls } = require('../tools/calls.js');
const { bounded, callCounter } = require('../common/quota.js');
const { formedReadingOf } = require('../common/reading.js');
const { explained, namingOption } = require('../common/syntax.js');

const DEFAULT = Object.freeze({ timeout: 30_000, memoryLimit: 128 });
const OPTIONS = Object.freeze(['timeout', 'memoryLimit', 'form', 'inspector', 'warm', ...TOOL_OPTIONS, ...COMMON]);
const CONSOLE = Object.freeze({ entries: 10_000, length: 10_000 });
/** What code may be: the body of a function, or also a function or an expression, in a Markdown fence or not. */
const FORMS = Object.freeze(['body', 'any']);
const bodyOf = bodyAfter('return (async () => { ');
/** @param {import('../common/normalize.js').Body} main */
const mainOf = (main) => main;
const { DEADLINE, DISPOSED, MEMORY } = CODE;

/**
 * @param {import('../common/execution.js').Execute} execute
 * @param {import('../common/typescript.js').Strip} strip
 * @param {import('../common/snapshot.js').ReadSnapshot} readSnapshot
 * @param {(memoryLimit: number) => any} make creates an isolate
 */
function createAgentSandbox(execute, strip, readSnapshot, make) {
  class AgentSandbox {
    /** @type {import('../common/executions.js').SandboxExecutions<import('../common/execution.js').Execution>} */ #executions = new Executions();
    #strip = this.#executions.ending(strip);
    #timeout;
    #console;
    #memoryLimit;
    #web;
    #poolSize;
    #snapshot;
    #typescript;
    #isAnyForm;
    #modules;
    #quota;
    #calling;
    #inspect;

    /** @param {any} [config] */
    constructor(config) {
      const settings = checkOptions(config, OPTIONS);
      this.#timeout = readNumber(settings, 'timeout', DEFAULT.timeout, 1);
      this.#memoryLimit = readMemory(settings, DEFAULT.memoryLimit);
      this.#quota = readQuota(settings, { output: defaultOutput(this.#memoryLimit) });
      this.#console = readConsole(settings, CONSOLE);
      this.#web = readWeb(settings);
      this.#poolSize = readPoolSize(settings);
      this.#typescript = readBoolean(settings, 'typescript');
      this.#isAnyForm = readListed(settings, 'form', FORMS) === 'any';
      this.#modules = readModules(settings, this.#typescript);
      this.#calling = readCalling(settings);
      this.#inspect = readInspector(settings);
      this.#snapshot = readSnapshot(settings, this.#memoryLimit);
    }

    /** False when the environment variable `NCP_DISABLE_ISOLATED_VM` is `true`. */
    static isAvailable() {
      return readEnvironment('NCP_DISABLE_ISOLATED_VM') !== 'true';
    }

    /**
     * @param {string} code
     * @param {unknown} [tools]
     * @param {unknown} [toolExecutor]
     * @param {any} [options]
     */
    execute(code, tools, toolExecutor, options) {
      return observed('AgentSandbox', { timeout: this.#timeout, memoryLimit: this.#memoryLimit }, code,
        () => this.#execute(code, tools, toolExecutor, options));
    }

    /**
     * @param {string} code
     * @param {unknown} tools
     * @param {unknown} toolExecutor
     * @param {any} options
     */
    async #execute(code, tools, toolExecutor, options) {
      const start = now();
      if (typeof code !== 'string') {
        throw wrong('code', 'a string');
      }
      const read = readTools(tools, toolExecutor);
      const signal = readSignal(checkOptions(options, SIGNAL));
      /** @type {import('../common/execution.js').Outcome} */
      const outcome = bare({
        ...this.#executions.isClosed ? gone() : await this.#executions.follow(this.#run(code, read.tools, read.toolExecutor, signal)),
      });
      const { ok, value, logs } = outcome;
      const durationMs = Math.round(now() - start);
      const more = { durationMs, duration: durationMs, ...reported(outcome) };
      if (ok) {
        return { result: value, logs, ...more };
      }
      const error = this.#describe(outcome);
      const failure = failureOf(outcome, code, error, this.#modules?.texts);
      // An error that the code threw or did not catch has a position in it.
      if (outcome.code === undefined || (outcome.code === CODE.TRANSFER && failure.line !== undefined)) {
        const line = `[ERROR] Execution error: ${error}`;
        const { length } = this.#console;
        logs.push(line.length > length ? `${line.slice(0, length)}...` : line);
      }
      return { result: null, logs, error, failure, ...more };
    }

    /**
     * @param {string} code
     * @param {import('../tools/calls.js').Tool[]} tools
     * @param {import('../tools/calls.js').ToolExecutor} toolExecutor
     * @param {any} signal
     */
    async #run(code, tools, toolExecutor, signal) {
      // A debugger may pause the code, and its time.
      const until = this.#inspect === undefined ? now() + this.#timeout : Infinity;
      const isGone = this.#executions.begin();
      const typescript = this.#typescript;
      const request = { code, bodyOf, mainOf, typescript, modules: this.#modules, timeout: this.#timeout, signal };
      const found = this.#isAnyForm ? formedReadingOf(request, this.#strip) : readingOf(request, this.#strip);
      // Without anything to await, execution begins at once.
      const reading = found instanceof Promise ? await found : found;
      if (isGone()) {
        return gone();
      }
      if (reading.failure !== undefined) {
        return reading.failure;
      }
      /** @type {import('../common/execution.js').Execution | undefined} */
      let running;
      const calls = new ToolCalls({
        toolExecutor, calling: this.#calling, memoryLimit: this.#memoryLimit, count: callCounter(this.#quota.calls), until, isStopped: isGone, signal, make,
      });
      /** @type {import('../common/execution.js').Outcome | undefined} */
      let outcome;
      try {
        outcome = await execute({
          code: reading.body,
          forms: reading.forms,
          modules: reading.modules,
          flags: FLAG.TIMERS | FLAG.MARKED_LOGS,
          web: this.#web,
          memoryLimit: this.#memoryLimit,
          timeout: reading.left,
          maxOutputSize: this.#quota.output,
          console: this.#console,
          globals: undefined,
          warm: this.#poolSize,
          snapshot: this.#snapshot,
          signal,
          inspect: this.#inspect,
          tools: tools.flatMap((tool) => [tool.place.namespace, tool.place.method, calls.callbackOf(tool)]),
          onStart: (started) => {
            running = started;
            this.#executions.add(started);
          },
        });
      } finally {
        calls.end(outcome);
        this.#executions.remove(running);
      }
      outcome = this.#isAnyForm ? explained(outcome, code, typescript) : namingOption(outcome, code, typescript);
      return bounded(outcome, this.#quota.output, { signal, until, isGone });
    }

    /** @param {import('../common/execution.js').Outcome} outcome */
    #describe({ code, value }) {
      switch (code) {
        case DEADLINE:
          return `Execution timeout after ${this.#timeout}ms`;
        case MEMORY:
          return 'Execution terminated (memory limit exceeded)';
        case DISPOSED:
          return GONE;
        default:
          return String(value);
      }
    }

    /** Ends running executions, which resolve with an error. */
    dispose() {
      this.#executions.dispose();
    }

    /** Ends running executions; later ones resolve with an error at once. */
    async close() {
      await this.#executions.close();
    }

    /** Heap statistics of the execution that started last; null if none is running. */
    getHeapStatistics() {
      const figures = this.#executions.last?.heapFigures();
      return figures === undefined ? null : named(figures);
    }
  }

  return { AgentSandbox };
}

module.exports = { createAgentSandbox };
