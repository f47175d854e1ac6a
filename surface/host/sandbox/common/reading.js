'use strict';
// Reads the code of an execution: removes its types, and converts it to the form in which it runs (a function body, a script or a module).

const { leftOf, now } = require('../../clock.js');
const { MAIN_FILE: FILE } = require('../../protocol.js');
const { codeOfExpression, codeOfStatements, expressionOf, formsOf, mainModule, pieceOf, statementsOf } = require('./normalize.js');

/** @type {typeof import('./typescript.js').failureOfBoth} */
const failureOfBoth = (body, main, code) => require('./typescript.js').failureOfBoth(body, main, code);

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
 * @typedef {object} Reading
 * @property {import('./normalize.js').Body} body
 * @property {import('./normalize.js').Form[]} forms the first one that fits runs instead of `body`, and its result is called
 * @property {import('./modules.js').Importable | undefined} modules
 * @property {boolean} isModule whether it can only run as a module
 * @property {import('./execution.js').Outcome | undefined} failure why it cannot be run
 * @property {number} left remaining milliseconds of its timeout
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

/**
 * @typedef {object} FormedRequest
 * @property {string} code
 * @property {boolean} typescript whether it may have types without a fence that names them
 * @property {import('./modules.js').ModuleMap | undefined} modules
 * @property {(main: import('./normalize.js').Body) => import('./normalize.js').Body} mainOf changes the code as a module
 * @property {number} timeout milliseconds
 * @property {any} signal from `readSignal`
 */

/**
 * Converts code that may be a function, an expression or statements, in a Markdown fence or not.
 * @param {FormedRequest} request
 * @param {import('./typescript.js').Strip} strip
 * @returns {Promise<Reading>}
 */
async function formedReadingOf({ code, typescript, modules, mainOf, timeout, signal }, strip) {
  const piece = pieceOf(code);
  /** @type {Reading} */
  const reading = { body: statementsOf(piece), forms: formsOf(piece), modules: undefined, isModule: false, failure: undefined, left: timeout };
  // An aborted execution is reported by the function that executes it.
  if (signal?.aborted) {
    return reading;
  }
  let main;
  if (modules !== undefined) {
    const { packed, failure, left } = await modules.ready(strip, timeout, signal);
    Object.assign(reading, { left, failure: signal?.aborted ? undefined : failure });
    if (packed === undefined) {
      return reading;
    }
    main = mainModule(piece);
    reading.modules = { packed, main: mainOf(main) };
  }
  if (signal?.aborted || !(typescript || piece.isTypeScript)) {
    return reading;
  }
  const start = now();
  const [plain, operand, module] = await strip([statementsOf(piece), expressionOf(piece), ...(main === undefined ? [] : [main])], reading.left, signal);
  reading.left = leftOf(reading.left, start);
  reading.body = plain.body ?? reading.body;
  const taken = plain.body !== undefined ? codeOfStatements(plain.body) : operand.body && codeOfExpression(operand.body);
  reading.forms = taken === undefined ? [] : formsOf(taken);
  if (reading.modules !== undefined && module?.body !== undefined) {
    reading.modules = { ...reading.modules, main: mainOf(module.body) };
  } else if (taken === undefined && !signal?.aborted) {
    reading.failure = failureOfBoth(plain, module, code);
  }
  return reading;
}

module.exports = { bodyAfter, formedReadingOf, readingOf };
