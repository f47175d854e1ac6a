// Executions with web APIs.

import assert from 'node:assert/strict';
import ivm from '../../index.mjs';

/** One execution with web APIs. */
export const run = (code, options = {}, globals = {}) => ivm.createSandbox(globals, { web: true, timeout: 10_000, ...options }).execute(code);

/** The result of one execution with web APIs that must succeed. */
export async function resultOf(code, options, globals) {
  const outcome = await run(code, options, globals);
  assert.equal(outcome.error, undefined, `${code}: ${outcome.error}`);
  return outcome.result;
}

/** The errors of `calls`, functions as text: name, message, class. */
export const errorsOf = (calls, before = '') => resultOf(`
  if (1) { ${before} }
  return [${calls.map((call) => `() => ${call}`)}].map((call) => {
    try { call(); return 'none'; } catch (error) { return error.name + ': ' + error.message; }
  });
`);
