'use strict';
// One execution of a plugin's code: its file name, its usage, and the position of its failure.

const { now } = require('../../../clock.js');
const { MAIN_FILE: FILE } = require('../../../protocol.js');
const { locate } = require('./failure.js');

const NANOSECONDS = 1e6;

/**
 * The usage of an isolate: nanoseconds of its CPU clock, and the most bytes of heap that were in use since the last call with `restart`.
 * @typedef {(restart: boolean) => { cpu: number, heapPeak: number }} Meter
 */

class Execution {
  #text;
  #meter;
  #runtime;
  #start = now();
  #cpu;
  #actor;
  /** the name of the code in stacks */ file;

  /**
   * @param {string} text the plugin's own
   * @param {number} number of the execution in its isolate, from 1: code that earlier ones left there has positions in other texts
   * @param {import('./runtime.js').PluginRuntime} runtime
   * @param {Meter} meter
   * @param {boolean} isAlone whether nothing else is in progress in the isolate
   * @param {import('./actors.js').PluginActor} actor whose calls of the host count as the execution's
   */
  constructor(text, number, runtime, meter, isAlone, actor) {
    this.#text = text;
    this.#runtime = runtime;
    this.#meter = meter;
    this.#cpu = meter(isAlone).cpu;
    this.file = number === 1 ? FILE : `${FILE}#${number}`;
    this.#actor = actor;
  }

  get actor() {
    return this.#actor;
  }

  /** @returns {import('../../common/execution.js').Usage} up to now */
  get usage() {
    const { cpu, heapPeak } = this.#meter(false);
    return { cpuMs: (cpu - this.#cpu) / NANOSECONDS, wallMs: now() - this.#start, heapPeak, hostCalls: this.#actor.calls };
  }

  /**
   * Adds `failure` to `error`, which describes how the code failed.
   * @template {Error} E
   * @param {E} error what the host gets
   * @param {unknown} thrown what the code failed with
   * @param {string} message of the thrown value, as it is reported
   */
  locate(error, thrown, message) {
    return locate(error, thrown, message, { text: this.#text, file: this.file, modules: this.#runtime.texts });
  }
}

/** @typedef {Execution} PluginExecution */

module.exports = { Execution };
