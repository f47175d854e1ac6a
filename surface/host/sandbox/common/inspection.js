'use strict';
// The option `inspector`: a debugger that is attached to the isolate of an execution before its code runs.

const { clearTimeout, setTimeout } = require('../../clock.js');
const { CODE } = require('../../../core/error.js');
const { ORIGIN, report } = require('../../calls/host-calls.js');
const { member, wrong } = require('./options.js');

const { apply } = Reflect;

/** Where DevTools looks for isolates. */
const USUAL_PORT = 9229;

/** @returns {typeof import('../../../../adapters/inspector.js')} */
function loadServer() {
  // Not by its usual name: bundlers would add a server to every program.
  const load = require;
  try {
    // Seen from the file in `host/` that this one becomes a part of.
    return load('../adapters/inspector.js');
  } catch (cause) {
    throw Object.assign(new Error('`inspector: true` requires isolated-v8/inspector, which a bundle does not have: pass a function', { cause }), { code: CODE.UNSUPPORTED });
  }
}

/** @typedef {(isolate: any, timeout: number) => unknown} Inspect */

/**
 * Serves the isolate to DevTools, and waits for a debugger for as long as the execution may take.
 * @type {Inspect}
 */
async function waitForDebugger(isolate, timeout) {
  const { serve } = loadServer();
  const serveAt = (/** @type {number} */ port) => serve(isolate, { port, title: 'an execution' });
  const server = await serveAt(USUAL_PORT).catch(() => serveAt(0));
  console.error(`Waiting for a debugger on ${server.url}\nIn Chrome: ${server.devtoolsUrl}`);
  /** @type {any} */
  let timer;
  await Promise.race([server.attached, new Promise((resolve) => { timer = setTimeout(resolve, timeout); })]);
  clearTimeout(timer);
  return server;
}

/**
 * @param {unknown} inspector the option, if it is not false
 * @returns {Inspect}
 */
function inspectorOf(inspector) {
  if (typeof inspector === 'function') {
    return (isolate) => inspector(isolate);
  }
  if (inspector !== true) {
    throw wrong('inspector', 'a boolean or a function');
  }
  return waitForDebugger;
}

/** A debugger's side of one execution. */
class Inspection {
  /** @type {Promise<unknown>} */ #opened;
  #isOpen = false;
  #stopped;
  stop = () => {};

  /**
   * @param {Inspect} inspect
   * @param {any} isolate
   * @param {number} timeout milliseconds
   */
  constructor(inspect, isolate, timeout) {
    this.#stopped = new Promise((resolve) => {
      /** The execution is over. */
      this.stop = () => resolve(undefined);
    });
    this.#opened = (async () => inspect(isolate, timeout))();
  }

  /** Waits until the code may run, or is stopped before. Throws what the user's function throws. */
  async open() {
    const waitForUser = async () => {
      await this.#opened;
      this.#isOpen = true;
    };
    await Promise.race([waitForUser(), this.#stopped]);
  }

  /** Closes what the user's function has returned. If it has not returned yet, this does not wait for it. */
  async close() {
    const closed = this.#opened.then((opened) => {
      const close = member(opened, 'close');
      return typeof close === 'function' ? apply(close, opened, []) : undefined;
    }).catch((error) => {
      if (this.#isOpen) report(ORIGIN.INSPECTOR, error);
    });
    if (this.#isOpen) {
      await closed;
    }
  }
}

module.exports = { Inspection, inspectorOf };
