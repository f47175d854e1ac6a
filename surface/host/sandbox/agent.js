'use strict';
// `IsolatedVMSandbox`: code of an AI agent with tools that it calls as `namespace.method(params)`.

const { performance } = require('node:perf_hooks');
const { CallbackRecord } = require('../../callback.js');
const { stamp } = require('../../handle.js');
const { CALLBACK, KIND } = require('../../protocol.js');
const { CODE, unsupported } = require('../../error.js');
const { named } = require('../../heap.js');
const { FLAG } = require('./execution.js');
const { checkOptions, readBoolean, readEnvironment, readMemory, readNumber, wrong } = require('./options.js');

const DEFAULT = Object.freeze({ timeout: 30_000, memoryLimit: 128 });
const PREFIX = 'return (async () => { ';
const UNBOUNDED = Number.MAX_SAFE_INTEGER;
const { DEADLINE, DISPOSED, MEMORY } = CODE;

/** @typedef {{ name: string, description: string, inputSchema?: Record<string, unknown> }} Tool */
/** @typedef {(toolName: string, params: any) => Promise<unknown>} ToolExecutor */

/** @param {string} name */
const identifier = (name) => name.replaceAll(/[^A-Za-z0-9_$]/g, '_');

/**
 * Where a tool is found inside: `a:b` (or `a.b`) is `a.b`, the rest of the name joined by `_`.
 * @param {string} name
 * @returns {{ namespace: string, method: string }}
 */
function placeOf(name) {
  const [namespace, ...rest] = name.split(name.includes(':') ? ':' : '.');
  return { namespace: identifier(namespace) || '_', method: identifier(rest.join('_')) || 'call' };
}

/**
 * @param {ToolExecutor} toolExecutor
 * @param {string} name
 */
function toolCallback(toolExecutor, name) {
  /** @param {string} params as JSON */
  const target = async (params) => plain(await toolExecutor(name, JSON.parse(params)));
  return stamp({}, KIND.CALLBACK, new CallbackRecord(target, CALLBACK.AWAITED));
}

/**
 * A tool's result as data: what cannot be cloned loses what JSON has no form for.
 * @param {unknown} result
 */
function plain(result) {
  try {
    return structuredClone(result);
  } catch {
    const json = JSON.stringify(result);
    return json === undefined ? undefined : JSON.parse(json);
  }
}

/** @param {unknown} tools */
function checkTools(tools) {
  if (!Array.isArray(tools) || !tools.every((tool) => typeof tool?.name === 'string' && tool.name !== '')) {
    throw wrong('tools', 'an array of objects with a `name`');
  }
  return /** @type {Tool[]} */ (tools);
}

/** @param {import('./execution.js').Execute} execute */
function createAgentSandbox(execute) {
  class IsolatedVMSandbox {
    /** @type {Set<import('./execution.js').Execution>} */ #running = new Set();
    #disposed = false;
    #timeout;
    #memoryLimit;

    /** @param {any} [config] */
    constructor(config) {
      const settings = checkOptions(config);
      this.#timeout = readNumber(settings, 'timeout', DEFAULT.timeout, 1);
      this.#memoryLimit = readMemory(settings, DEFAULT.memoryLimit);
      if (readBoolean(settings, 'inspector')) {
        throw unsupported('`inspector`');
      }
    }

    /** False when the environment variable `NCP_DISABLE_ISOLATED_VM` is `true`. */
    static isAvailable() {
      return readEnvironment('NCP_DISABLE_ISOLATED_VM') !== 'true';
    }

    /**
     * @param {string} code
     * @param {Tool[]} tools
     * @param {ToolExecutor} toolExecutor
     */
    async execute(code, tools, toolExecutor) {
      const start = performance.now();
      if (typeof code !== 'string') {
        throw wrong('code', 'a string');
      }
      checkTools(tools);
      if (typeof toolExecutor !== 'function') {
        throw wrong('toolExecutor', 'a function');
      }
      const outcome = this.#disposed
        ? { ok: false, value: 'Sandbox has been disposed', code: DISPOSED, logs: [] }
        : await this.#run(code, tools, toolExecutor);
      const { ok, value, logs } = outcome;
      const duration = Math.round(performance.now() - start);
      if (ok) {
        return { result: value, logs, duration };
      }
      const error = this.#describe(outcome);
      if (outcome.code === undefined) {
        logs.push(`[ERROR] Execution error: ${error}`);
      }
      return { result: null, logs, error, duration };
    }

    /**
     * @param {string} code
     * @param {Tool[]} tools
     * @param {ToolExecutor} toolExecutor
     */
    async #run(code, tools, toolExecutor) {
      /** @type {import('./execution.js').Execution | undefined} */
      let running;
      try {
        return await execute({
          code: { text: `${PREFIX}${code}\n})()`, prefix: PREFIX.length },
          flags: FLAG.TIMERS | FLAG.MARKED_LOGS,
          memoryLimit: this.#memoryLimit,
          timeout: this.#timeout,
          maxOutputSize: UNBOUNDED,
          globals: undefined,
          tools: tools.flatMap(({ name }) => {
            const { namespace, method } = placeOf(name);
            return [namespace, method, toolCallback(toolExecutor, name)];
          }),
          onStart: (started) => {
            running = started;
            this.#running.add(started);
          },
        });
      } finally {
        if (running !== undefined) {
          this.#running.delete(running);
        }
      }
    }

    /** @param {import('./execution.js').Outcome} outcome */
    #describe({ code, value }) {
      switch (code) {
        case DEADLINE:
          return `Execution timeout after ${this.#timeout}ms`;
        case MEMORY:
          return 'Execution terminated (memory limit exceeded)';
        case DISPOSED:
          return 'Sandbox has been disposed';
        default:
          return String(value);
      }
    }

    /** Ends what runs; the pending executions resolve with an error, later ones at once. */
    dispose() {
      this.#disposed = true;
      for (const running of this.#running) {
        running.dispose();
      }
    }

    /** Heap figures of the execution that started last; null when nothing runs. */
    getHeapStatistics() {
      const figures = [...this.#running].at(-1)?.heapFigures();
      return figures === undefined ? null : named(figures);
    }
  }

  /** @param {any} [config] */
  const createIsolatedVMSandbox = (config) => new IsolatedVMSandbox(config);

  return { IsolatedVMSandbox, createIsolatedVMSandbox };
}

module.exports = { createAgentSandbox };
