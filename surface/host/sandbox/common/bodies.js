'use strict';
// Reads the code of an execution that is a body, a script or a module: removes its types.

const { leftOf, now } = require('../../clock.js');
const { MAIN_FILE: FILE } = require('../../protocol.js');
const { failureOfBoth } = require('./reading.js');

/** @typedef {import('./reading.js').Reading} Reading */

/**
 * Creates a function that wraps code in an async function, which is called at once.
 * @param {string} prefix the text before the code
 * @returns {(code: string) => import('./normalize.js').Body}
 */
const bodyAfter = (prefix) => (code) => ({ text: `${prefix}${code}\n})()`, line: 0, column: -prefix.length });

/**
 * @typedef {object} Request
 * @property {string} code
 * @property {(code: string) => import('./normalize.js').Body} bodyOf returns the body that runs, unless the code is a module
 * @property {string} [name] of the code in stacks
 * @property {boolean} typescript whether it may have types
 * @property {import('./modules.js').ModuleMap | undefined} modules
 * @property {number} timeout milliseconds
 * @property {any} signal from `readSignal`
 */

/**
 * The code with its types, if it may have any; undefined if the modules' types have to be removed first.
 * @param {Request} request
 * @returns {Reading | undefined}
 */
function bareReading({ code, bodyOf, name = FILE, modules, timeout }) {
  /** @type {Reading} */
  const reading = { body: bodyOf(code), forms: [], modules: undefined, isModule: false, failure: undefined, left: timeout };
  if (modules === undefined) {
    return reading;
  }
  const { packed } = modules;
  return packed && { ...reading, modules: { packed, main: { text: code, line: 0, column: 0, name } } };
}

/**
 * @param {Request} request
 * @param {import('./typescript.js').Strip} strip
 * @returns {Reading | Promise<Reading>}
 */
function readingOf(request, strip) {
  const { typescript, signal } = request;
  const reading = bareReading(request);
  // An aborted execution is reported by the function that executes it.
  if (signal?.aborted) {
    return reading ?? /** @type {Reading} */ (bareReading({ ...request, modules: undefined }));
  }
  return reading === undefined || typescript ? readingWithoutTypes(request, strip) : reading;
}

/**
 * @param {Request} request
 * @param {import('./typescript.js').Strip} strip
 * @returns {Promise<Reading>}
 */
async function readingWithoutTypes(request, strip) {
  const { code, modules, timeout, signal } = request;
  const { left, failure } = modules === undefined ? { left: timeout, failure: undefined } : await modules.ready(strip, timeout, signal);
  const reading = bareReading({ ...request, timeout: left });
  if (reading === undefined || signal?.aborted) {
    const none = /** @type {Reading} */ (bareReading({ ...request, modules: undefined }));
    return { ...none, left, failure: signal?.aborted ? undefined : failure };
  }
  const start = now();
  const { body, modules: importable } = reading;
  const [plain, main] = await strip(importable === undefined ? [body] : [body, importable.main], left, signal);
  reading.left = leftOf(left, start);
  if (signal?.aborted) {
    return reading;
  }
  if (plain.body === undefined && main?.body === undefined) {
    return { ...reading, failure: failureOfBoth(plain, main, code) };
  }
  reading.body = plain.body ?? body;
  reading.isModule = plain.body === undefined;
  if (importable !== undefined && main?.body !== undefined) {
    reading.modules = { ...importable, main: main.body };
  }
  return reading;
}

module.exports = { bodyAfter, readingOf };
