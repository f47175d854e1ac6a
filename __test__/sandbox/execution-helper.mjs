// Executions of `createSandbox` with a known kind of outcome.

import assert from 'node:assert/strict';
import ivm from '../../index.mjs';

/** One execution that must succeed. */
export async function resultOf(code, globals = {}, options = {}) {
  const outcome = await ivm.createSandbox(globals, options).execute(code);
  assert.equal(outcome.error, undefined, `${code}: ${outcome.error}`);
  return outcome.result;
}

/** The message of one execution that must fail. */
export async function errorOf(code, globals = {}, options = {}) {
  const outcome = await ivm.createSandbox(globals, options).execute(code);
  assert.equal(typeof outcome.error, 'string', `${code} gave ${JSON.stringify(outcome)}`);
  assert.equal(outcome.result, null);
  return outcome.error;
}
