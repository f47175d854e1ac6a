'use strict';
// Executions in separate processes: requests to the native side, and its answers.

const { now } = require('../../clock.js');
const { CODE } = require('../../../core/error.js');
const { TRANSFER } = require('../../../core/protocol.js');
const { Unreadable } = require('../../values/unpack.js');
const { isMalformation } = require('../../wire/refusal.js');
const { EXECUTION, PROCESS, record, RESULT } = require('../../protocol.js');
const { disposed, fieldsOf, outcomeOf } = require('../common/execution.js');
const { abortedBy, refusedBy } = require('../common/refusals.js');

/**
 * Settings that are equal for all processes that can replace each other.
 * @typedef {object} ProcessTemplate
 * @property {string[]} environment `NAME=value`
 * @property {string[]} off confinement layers to turn off
 * @property {string[]} required layers without which nothing runs
 * @property {number} timeout milliseconds
 * @property {number} memoryLimit megabytes
 * @property {number} pool processes to keep ready for the next executions
 * @property {number} web bits of names, from `readWeb`
 * @property {object | undefined} snapshot an ExternalCopy that they start from
 */

/**
 * @typedef {object} Spec
 * @property {ProcessTemplate} template
 * @property {number} spent milliseconds of the timeout that are already used up
 * @property {import('../common/normalize.js').Body} code
 * @property {import('../common/modules.js').Importable | undefined} modules what the code can import
 * @property {number} maxOutputSize bytes of JSON
 * @property {import('../common/execution.js').Console} console
 * @property {{ places: string[], callback: unknown }[]} tools namespaces and methods, and a Callback
 * @property {any} signal from `readSignal`
 * @property {(running: Running) => void} onStart
 */

/** @typedef {import('../common/execution.js').Outcome & { signal?: number, layers?: string[] }} Outcome */

/** @typedef {{ name: string, active: boolean, detail: string }} Layer */

/** An execution in progress. */
class Running {
  #environment;
  #number;
  isTerminated = false;

  /**
   * @param {any} environment
   * @param {number} number
   */
  constructor(environment, number) {
    this.#environment = environment;
    this.#number = number;
  }

  /** Ends it, together with its process. */
  dispose() {
    this.isTerminated = true;
    this.#environment.terminateExecution(this.#number);
  }
}

/**
 * @param {import('../../../index.js').Core} core
 * @param {any} environment the native one
 * @param {string | undefined} launcher the executable, if not the one beside the addon
 */
function createProcessCalls(core, environment, launcher) {
  const { binding, calls } = core;

  /** @param {ProcessTemplate} template */
  const processOf = ({ environment: variables, off, required, timeout, memoryLimit, pool, web, snapshot }) => record(PROCESS, {
    launcher,
    environment: variables.join('\0'),
    off: off.join(','),
    required: required.join(','),
    timeout,
    memoryLimit,
    pool,
    web,
    snapshot: binding.pack(snapshot, TRANSFER.DEFAULT),
  });

  /**
   * @param {Spec} spec
   * @returns {Promise<Outcome>}
   */
  async function execute({ template, spent, code, modules, maxOutputSize, console, tools, signal, onStart }) {
    if (signal?.aborted) {
      return { ok: false, ...abortedBy(signal), logs: [], lost: 0 };
    }
    const until = now() + template.timeout - spent;
    const packed = tools.flatMap(({ places, callback }) => [places.join('\0'), binding.pack(callback, TRANSFER.DEFAULT)]);
    const onLog = console.listener === undefined ? undefined : binding.pack(console.listener, TRANSFER.DEFAULT);
    const call = calls.begin(execute);
    const number = environment.executeInProcess(call.request, processOf(template), record(EXECUTION, {
      code: code.text,
      line: code.line,
      column: code.column,
      forms: [],
      ...fieldsOf(modules),
      timeout: template.timeout,
      spent,
      maxOutput: maxOutputSize,
      maxLogs: console.entries,
      maxLogLength: console.length,
      onLog,
      // What follows is the same for all executions of the process.
      flags: undefined,
      web: undefined,
      memoryLimit: undefined,
      snapshot: undefined,
      globals: undefined,
      warm: undefined,
      tools: packed,
    }));
    const running = new Running(environment, number);
    const unlimit = binding.limitReading?.(call.request, { until, stopped: () => (running.isTerminated ? disposed() : undefined) });
    let aborted = false;
    /** @type {(() => void) | undefined} */
    let unfollow;
    try {
      unfollow = signal?.follow(() => {
        aborted = true;
        running.dispose();
      });
      onStart(running);
      const result = await call.promise;
      /** @type {Outcome} */
      const outcome = { ...outcomeOf(result), layers: result[RESULT.LAYERS].split(',').filter(Boolean) };
      const value = result[RESULT.VALUE];
      if (!(value instanceof Unreadable)) {
        outcome.signal = result[RESULT.SIGNAL];
      } else if (isMalformation(value.error)) {
        outcome.code = CODE.PROTOCOL;
      }
      return aborted && outcome.code === CODE.DISPOSED ? { ...outcome, ...abortedBy(signal) } : outcome;
    } catch (error) {
      // No process could be started.
      return { ok: false, ...refusedBy(error), logs: [], lost: 0 };
    } finally {
      unfollow?.();
      unlimit?.();
    }
  }

  /**
   * The confinement of such a process, as the process itself reports it.
   * @param {ProcessTemplate} template
   * @returns {Promise<Layer[]>}
   */
  async function checkConfinement(template) {
    const call = calls.begin(checkConfinement);
    environment.checkConfinement(call.request, processOf(template));
    const list = await call.promise;
    const layers = [];
    for (let at = 0; at < list.length; at += 3) {
      layers.push({ name: list[at], active: list[at + 1], detail: list[at + 2] });
    }
    return layers;
  }

  return { execute, checkConfinement };
}

module.exports = { createProcessCalls };
