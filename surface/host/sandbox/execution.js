'use strict';
// One execution in a native sandbox: a call that starts it, a promise of its outcome, and a way to end it early.

const { MODE, OP, TRANSFER } = require('../../protocol.js');

/** What the native side is told beside the numbers. */
const FLAG = Object.freeze({ SHADOW_GLOBAL: 1, TIMERS: 2, MARKED_LOGS: 4 });

/**
 * @typedef {object} Spec
 * @property {import('./normalize.js').Body} code
 * @property {{ code: import('./normalize.js').Body, guard: string }} [function] run instead, and what it gives called, where
 *   it compiles and its guard does not
 * @property {number} flags bits of FLAG
 * @property {number} memoryLimit megabytes
 * @property {number} timeout milliseconds
 * @property {number} maxOutputSize bytes of JSON
 * @property {unknown} globals
 * @property {unknown[]} tools namespace, method and Callback of each
 * @property {(running: Execution) => void} [onStart]
 */

/** @typedef {{ ok: boolean, value: unknown, code: string | undefined, logs: string[] }} Outcome */
/** @typedef {(spec: Spec) => Promise<Outcome>} Execute */

/** @typedef {InstanceType<typeof Running>} Execution */

/** An execution under way. */
class Running {
  #core;
  #id;

  /**
   * @param {import('../../index.js').Core} core
   * @param {number} id of its isolate
   */
  constructor(core, id) {
    this.#core = core;
    this.#id = id;
  }

  /** Ends it; its outcome is an error. */
  dispose() {
    this.#core.binding.invoke(OP.DISPOSE, MODE.SYNC, 0, this.#id);
  }

  /**
   * Figures of its heap, in the order of `HEAP_STATISTICS`.
   * @returns {number[] | undefined} undefined before the first and after the last
   */
  heapFigures() {
    return this.#core.binding.unpack(this.#core.binding.invoke(OP.HEAP_FIGURES, MODE.SYNC, 0, this.#id));
  }
}

/**
 * @param {import('../../index.js').Core} core
 * @param {any} environment the native one
 * @returns {Execute}
 */
function createExecute(core, environment) {
  return async function execute(spec) {
    const { calls, binding } = core;
    const globals = binding.pack(spec.globals, TRANSFER.COPY);
    const tools = spec.tools.map((part) => binding.pack(part, TRANSFER.DEFAULT));
    const call = calls.begin(execute);
    const id = environment.execute(call.request, spec.code.text, spec.code.prefix, spec.function?.code.text,
      spec.function?.code.prefix, spec.function?.guard, spec.flags, spec.memoryLimit, spec.timeout, spec.maxOutputSize, globals,
      ...tools);
    try {
      spec.onStart?.(new Running(core, id));
      const [ok, value, code, ...logs] = await call.promise;
      return { ok, value, code, logs };
    } finally {
      binding.release(id);
    }
  };
}

module.exports = { createExecute, FLAG };
