'use strict';
// Reads code of any form for an execution: removes its types, and converts it to the form in which it runs (a function body or a module).

const { leftOf, now } = require('../../clock.js');
const { codeOfExpression, codeOfStatements, expressionOf, formsOf, mainModule, pieceOf, statementsOf } = require('./normalize.js');

/** @type {typeof import('./typescript.js').failureOfBoth} */
const failureOfBoth = (body, main, code) => require('./typescript.js').failureOfBoth(body, main, code);

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

module.exports = { failureOfBoth, formedReadingOf };
