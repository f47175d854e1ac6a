'use strict';
// Reports errors of host functions that have no receiver.

const { channel } = require('node:diagnostics_channel');
const { stackOf, thrownText } = require('../wire/faults.js');

/** The channel of `diagnostics_channel`, and the code of the process warning. Both are documented. */
const CHANNEL = 'isolated-v8:unhandled-host-error';
const WARNING = 'ISOLATED_V8_UNHANDLED_HOST_ERROR';

/** Characters of an error that a warning shows. */
const MAX_MESSAGE = 1_000;
const MAX_STACK = 4_000;

const { emitWarning } = process;
const failures = channel(CHANNEL);
/** Origins for which a warning was emitted. @type {Set<string>} */
const warned = new Set();

/**
 * Reports an error to the subscribers of the diagnostics channel. If there are none, emits a process warning for the first error of each
 * origin.
 * @param {string} origin the kind of the host function, or `timer` for what a guest's timer has thrown
 * @param {unknown} error
 */
function reportUnhandled(origin, error) {
  if (failures.hasSubscribers) {
    try {
      failures.publish({ error, origin });
    } catch {
      // Errors of the host's subscribers are ignored.
    }
    return;
  }
  if (warned.has(origin)) {
    return;
  }
  warned.add(origin);
  try {
    const subject = origin === 'timer' ? 'A timer of a guest' : `A host function (${origin})`;
    const text = `${subject} failed, and no caller can receive its error: ${shown(() => textOf(error), MAX_MESSAGE)}. Subscribe to the diagnostics channel '${CHANNEL}' for all such errors.`;
    emitWarning(text, /** @type {any} */ ({ __proto__: null, code: WARNING, detail: shown(() => stackOf(error) ?? textOf(error), MAX_STACK) }));
  } catch {
    // The host does not support warnings.
  }
}

/**
 * The message of an error, or the text of what else was thrown.
 * @param {any} error
 * @returns {string}
 */
function textOf(error) {
  const message = typeof error === 'object' && error !== null ? error.message : undefined;
  return typeof message === 'string' ? message : thrownText(error);
}

/**
 * The beginning of a text, safe to show in a terminal.
 * @param {() => string} read
 * @param {number} length
 * @returns {string}
 */
function shown(read, length) {
  try {
    // Control characters, and those that change the direction of text. V8 reads such an expression slowly, so it is not part of this file.
    return read().slice(0, length).replaceAll(new RegExp(String.raw`[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]`, 'gu'), '');
  } catch {
    return 'an error that has no text';
  }
}

module.exports = { reportUnhandled };
