'use strict';
// Code as it is run: a body of a function, or a script, or else a module; without types.

const { performance } = require('node:perf_hooks');
const { FILE } = require('./failure.js');
const { failureOfBoth, leftOf } = require('./typescript.js');

/**
 * What makes the body of an async function of code, and has it called.
 * @param {string} prefix what comes before it
 * @returns {(code: string) => import('./normalize.js').Body}
 */
const bodyAfter = (prefix) => (code) => ({ text: `${prefix}${code}\n})()`, line: 0, column: -prefix.length });

/**
 * @typedef {object} Request
 * @property {string} code
 * @property {(code: string) => import('./normalize.js').Body} bodyOf what is run of it unless it is a module
 * @property {string} [name] of the code in stacks
 * @property {boolean} typescript it may have types
 * @property {import('./modules.js').ModuleMap | undefined} modules
 * @property {number} timeout milliseconds
 * @property {any} signal from `readSignal`
 */

/**
 * @typedef {object} Reading
 * @property {import('./normalize.js').Body} body
 * @property {import('./modules.js').Importable | undefined} modules
 * @property {boolean} isModule it is nothing else
 * @property {import('./execution.js').Outcome | undefined} failure why it is not to be run
 * @property {number} left milliseconds that are left of its timeout
 */

/**
 * The code with its types, if it may have any; undefined where the modules' types have to be taken off first.
 * @param {Request} request
 * @returns {Reading | undefined}
 */
function bareReading({ code, bodyOf, name = FILE, modules, timeout }) {
  /** @type {Reading} */
  const reading = { body: bodyOf(code), modules: undefined, isModule: false, failure: undefined, left: timeout };
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
  // One that is aborted is told so by what executes it.
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
  const start = performance.now();
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
