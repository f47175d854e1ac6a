'use strict';
// One execution in a native sandbox: a call that starts it, a promise of its outcome, and a way to end it early.

const { now } = require('../../clock.js');
const { ownIsolate } = require('../../diagnostics.js');
const { CODE, coded } = require('../../../core/error.js');
const { recordOf } = require('../../../core/handle.js');
const { KIND, MODE, OP, TRANSFER } = require('../../../core/protocol.js');
const { Unreadable } = require('../../values/unpack.js');
const { EXECUTION, FORM, FORM_PART, record, RESULT } = require('../../protocol.js');

/** Nanoseconds in a millisecond. */
const NANOSECONDS = 1e6;

/**
 * @typedef {object} Spec
 * @property {import('./normalize.js').Body} code
 * @property {import('./normalize.js').Form[]} forms the first one that fits runs instead of
 *   `code`, and its result is called
 * @property {import('./modules.js').Importable | undefined} modules what the code can import
 * @property {number} flags bits of FLAG
 * @property {number} web bits of names, from `readWeb`
 * @property {number} memoryLimit megabytes
 * @property {number} timeout milliseconds
 * @property {number} maxOutputSize bytes of JSON
 * @property {Console} console
 * @property {unknown} globals
 * @property {unknown[]} tools namespace, method and Callback of each
 * @property {number} warm isolates to keep ready for the next executions
 * @property {object | undefined} snapshot an ExternalCopy
 * @property {import('../../calls/signals.js').Signal | undefined} signal from `readSignal`
 * @property {import('./inspection.js').Inspect} [inspect] called before the code runs
 * @property {(running: Execution) => void} [onStart]
 */

/**
 * @typedef {object} Console
 * @property {number} entries that are kept
 * @property {number} length of each in characters
 * @property {object | undefined} listener a Callback
 */

/**
 * Resources that an execution has used.
 * @typedef {object} Usage
 * @property {number} cpuMs
 * @property {number} wallMs
 * @property {number} heapPeak bytes
 * @property {number} hostCalls
 */

/**
 * @typedef {object} Outcome
 * @property {boolean} ok
 * @property {unknown} value the result, or the message of a failure
 * @property {string} [code] of a failure that this library reports
 * @property {string} [name] of the error; absent if something else was thrown
 * @property {string} [stack] its frames
 * @property {any[]} [details] its cause and own properties, each element at its index of DETAIL
 * @property {string[]} logs
 * @property {number} lost log entries that were not kept
 * @property {Usage} [usage] absent if nothing could start
 */

/** The message for an execution in a disposed sandbox. */
const DISPOSED = 'Sandbox has been disposed';

const disposed = () => coded(Error, DISPOSED, CODE.DISPOSED);

/** @returns {Outcome} */
const gone = () => ({ ok: false, value: DISPOSED, code: CODE.DISPOSED, logs: [], lost: 0 });

/** @typedef {(spec: Spec) => Promise<Outcome>} Execute */

/** @typedef {InstanceType<typeof Running>} Execution */

/** Loaded when an execution is refused or aborted. */
const refusals = () => require('./refusals.js');

/**
 * Describes an error that occurred here, on the host.
 * @param {unknown} error
 * @returns {{ value: string, name?: string, code?: string }}
 */
function refusedBy(error) {
  try {
    return refusals().refusedBy(error);
  } catch (failed) {
    // No file can be opened any more.
    return { value: String(/** @type {Error} */ (failed).message), name: 'Error' };
  }
}

/** An execution in progress. */
class Running {
  #core;
  #id;
  isDisposed = false;
  /** @type {(() => void) | undefined} called when it is disposed of */
  onDispose;

  /**
   * @param {import('../../../index.js').Core} core
   * @param {number} id of its isolate
   */
  constructor(core, id) {
    this.#core = core;
    this.#id = id;
  }

  /** Ends it; its outcome is an error. */
  dispose() {
    this.isDisposed = true;
    this.onDispose?.();
    this.#core.binding.invoke(OP.DISPOSE, MODE.SYNC, 0, this.#id);
  }

  /**
   * Figures of its heap, each at its index of `HEAP_STATISTIC`.
   * @returns {number[] | undefined} undefined before the first measurement, and after the end of the isolate
   */
  heapFigures() {
    return this.#core.binding.unpack(this.#core.binding.invoke(OP.HEAP_FIGURES, MODE.SYNC, 0, this.#id));
  }
}

/**
 * @param {import('./normalize.js').Form} form
 * @returns {unknown[]} the elements of FORM_PART
 */
const partsOfForm = ({ code: { text, line, column }, guard, needsGuard, isFunction }) =>
  record(FORM_PART, { text, line, column, guard, flags: (needsGuard ? FORM.NEEDS_GUARD : 0) | (isFunction ? FORM.FUNCTION : 0) });

/**
 * The fields of an execution's record.
 * @param {import('./modules.js').Importable | undefined} importable
 */
const fieldsOf = (importable) => ({
  moduleIndex: importable?.packed.index,
  moduleSources: importable?.packed.text,
  moduleCode: importable?.main.text,
  moduleLine: importable?.main.line,
  moduleColumn: importable?.main.column,
});

/**
 * @param {any[]} result each element at its index of RESULT
 * @returns {Outcome}
 */
function outcomeOf(result) {
  const value = result[RESULT.VALUE];
  const more = {
    logs: result.slice(RESULT.LOGS),
    lost: result[RESULT.LOST],
    usage: {
      cpuMs: result[RESULT.CPU] / NANOSECONDS,
      wallMs: result[RESULT.WALL] / NANOSECONDS,
      heapPeak: result[RESULT.HEAP_PEAK],
      hostCalls: result[RESULT.HOST_CALLS],
    },
  };
  if (value instanceof Unreadable) {
    return { ok: false, ...refusedBy(value.error), ...more };
  }
  return { ok: result[RESULT.OK], value, code: result[RESULT.CODE], name: result[RESULT.NAME], stack: result[RESULT.STACK], details: result[RESULT.DETAILS], ...more };
}

/**
 * @param {import('../../../index.js').Core} core
 * @param {any} environment the native one
 * @returns {Execute}
 */
function createExecute(core, environment) {
  /** @type {Execute} */
  async function execute(spec) {
    if (spec.signal?.aborted) {
      return { ok: false, ...refusals().abortedBy(spec.signal), logs: [], lost: 0 };
    }
    return spec.inspect === undefined ? run(spec) : inspected(spec, spec.inspect);
  }

  /**
   * @param {Spec} spec
   * @param {import('./inspection.js').Inspect} inspect
   * @returns {Promise<Outcome>}
   */
  async function inspected(spec, inspect) {
    const { binding } = core;
    const { flags, memoryLimit, signal, web } = spec;
    const isolate = binding.unpack(environment.makeInspectable(flags, web, memoryLimit, binding.pack(spec.snapshot, TRANSFER.DEFAULT)), execute);
    const running = new Running(core, recordOf(isolate, KIND.ISOLATE).entry.id);
    const { Inspection } = require('./inspection.js');
    const inspection = new Inspection(inspect, isolate, spec.timeout);
    running.onDispose = () => inspection.stop();
    const unfollow = signal?.follow(() => running.dispose());
    spec.onStart?.(running);
    try {
      await inspection.open();
      unfollow?.();
      if (running.isDisposed || isolate.isDisposed) {
        return signal?.aborted ? { ok: false, ...refusals().abortedBy(signal), logs: [], lost: 0 } : gone();
      }
      return await run({ ...spec, onStart: undefined }, isolate);
    } catch (error) {
      return { ok: false, ...refusals().refusedBy(error), logs: [], lost: 0 };
    } finally {
      unfollow?.();
      if (!isolate.isDisposed) running.dispose();
      await inspection.close();
    }
  }

  /**
   * @param {Spec} spec
   * @param {any} [isolate] made for it, if it is inspected
   * @returns {Promise<Outcome>}
   */
  async function run(spec, isolate) {
    const { calls, binding } = core;
    const isInspected = isolate !== undefined;
    const until = isInspected ? Infinity : now() + spec.timeout;
    const { code, console, flags, forms, memoryLimit, web } = spec;
    const snapshot = binding.pack(spec.snapshot, TRANSFER.DEFAULT);
    if (spec.warm > 0 && !isInspected) {
      // A thread takes as long to wake up as all of the following takes.
      environment.prewarm(flags, web, memoryLimit, snapshot);
    }
    const globals = spec.globals === undefined ? undefined : require('./globals.js').packGlobals(binding, spec.globals);
    const tools = spec.tools.map((part) => binding.pack(part, TRANSFER.DEFAULT));
    const onLog = console.listener === undefined ? undefined : binding.pack(console.listener, TRANSFER.DEFAULT);
    const call = calls.begin(execute);
    const id = environment.execute(call.request, record(EXECUTION, {
      code: code.text,
      line: code.line,
      column: code.column,
      forms: forms.flatMap(partsOfForm),
      ...fieldsOf(spec.modules),
      timeout: spec.timeout,
      spent: 0,
      maxOutput: spec.maxOutputSize,
      maxLogs: console.entries,
      maxLogLength: console.length,
      onLog,
      flags,
      web,
      memoryLimit,
      snapshot,
      globals,
      warm: spec.warm,
      tools,
    }), isInspected ? recordOf(isolate, KIND.ISOLATE).entry.id : 0);
    const life = ownIsolate(memoryLimit);
    const running = new Running(core, id);
    const unlimit = binding.limitReading?.(call.request, { until, stopped: () => (running.isDisposed ? disposed() : undefined) });
    let aborted = false;
    /** @type {(() => void) | undefined} */
    let unfollow;
    try {
      unfollow = spec.signal?.follow(() => {
        aborted = true;
        running.dispose();
      });
      spec.onStart?.(running);
      const outcome = outcomeOf(await call.promise);
      life?.endWith(outcome.ok ? undefined : outcome.code, outcome.value);
      return aborted && outcome.code === CODE.DISPOSED ? { ...outcome, ...refusals().abortedBy(/** @type {import('../../calls/signals.js').Signal} */ (spec.signal)) } : outcome;
    } finally {
      unfollow?.();
      unlimit?.();
      life?.end('disposed');
      binding.release(id);
    }
  }

  return execute;
}

/**
 * What the results of all sandboxes have if there is something to report, whether the execution succeeded or not.
 * @param {Outcome} outcome
 */
const reported = ({ lost, usage }) => ({ ...(lost > 0 ? { lostLogs: lost } : {}), ...(usage === undefined ? {} : { usage }) });

module.exports = { createExecute, DISPOSED, disposed, fieldsOf, gone, outcomeOf, refusedBy, reported };
