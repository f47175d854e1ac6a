'use strict';
// Describes why a plugin's code failed, as the other sandboxes do: in addition to the error, with the lines where it occurred.

const { BOUNDARY, coded } = require('../../../../core/error.js');
const { detailsOf } = require('../../../values/error-details.js');
const { failureOf } = require('../../common/failure.js');
const { libraryCode } = require('../../common/refusals.js');
const { bare } = require('../../common/options.js');

const FRAME = '\n    at ';

/** @typedef {import('../../common/failure.js').Failure} Failure */

/**
 * The frames of a guest in the stack of an error that came from the guest.
 * @param {unknown} stack
 */
function guestFrames(stack) {
  if (typeof stack !== 'string') {
    return '';
  }
  const end = stack.lastIndexOf(BOUNDARY);
  const start = stack.indexOf(FRAME);
  return end < 0 || start < 0 || start >= end ? '' : stack.slice(start, end);
}

/** Stacks of the errors that `errorOf` creates. @type {WeakMap<object, string>} */
const stacks = new WeakMap();

/**
 * The error for an outcome.
 * @param {import('../../common/execution.js').Outcome} outcome of a failure
 */
function errorOf({ value, code, name, stack = '' }) {
  const Class = name === 'SyntaxError' ? /** @type {ErrorConstructor} */ (SyntaxError) : Error;
  const error = code === undefined ? new Class(String(value)) : coded(Class, String(value), code);
  stacks.set(error, stack);
  return error;
}

/**
 * Details of an error in the form of an outcome's.
 * @param {any[] | undefined} details with faults
 * @returns {any[] | undefined}
 */
function detailsOfOutcome(details) {
  if (details === undefined) {
    return undefined;
  }
  const [cause, ...properties] = details;
  const [, className, name, message, stack, , more] = Array.isArray(cause) ? cause : [];
  return [Array.isArray(cause) ? [name ?? className, message, stack, detailsOfOutcome(more)] : cause, ...properties];
}

/**
 * Adds `failure` to `error`, which describes how the code failed.
 * @template {Error} E
 * @param {E} error what the host gets
 * @param {any} thrown what the plugin's code failed with
 * @param {string} message of the thrown value, as it is reported
 * @param {{ text: string, file: string, modules: ReadonlyMap<string, string> | undefined }} source
 * @returns {E}
 */
function locate(error, thrown, message, { text, file, modules }) {
  const { name, stack } = thrown instanceof Error ? thrown : { name: undefined, stack: undefined };
  const code = thrown instanceof Error ? libraryCode(thrown) : undefined;
  const frames = stacks.get(thrown) ?? guestFrames(stack);
  const details = thrown instanceof Error ? detailsOfOutcome(detailsOf(thrown, true)) : undefined;
  const failure = failureOf({ ok: false, value: message, logs: [], lost: 0, name, stack: frames, code, details },
    text, message, modules, file);
  return Object.defineProperty(error, 'failure', bare({ value: failure, writable: true, enumerable: true, configurable: true }));
}

module.exports = { errorOf, locate };
