'use strict';
// Creates errors from their parts.

const { boundedStack } = require('../../core/error.js');
const { define, ownKeys } = require('../../core/primordials.js');
const { EndOfTurn } = require('./end-of-turn.js');
const { ERROR_PROTOTYPES, ERROR_TAG } = require('./tags.js');

const { hasOwn: isOwn } = Object;
const errorClasses = new Map(Object.entries(ERROR_PROTOTYPES).map(([name, tag]) => [tag, /** @type {any} */ (globalThis)[name]]));

/** @param {number} byte */
const isPrototype = (byte) => errorClasses.has(byte);

const SEEN_MESSAGE = 1;
const SEEN_STACK = 2;
const SEEN_CAUSE = 4;
/** Makes the engine define a cause, which it does faster than `define`. */
const WITH_CAUSE = Object.freeze({ cause: undefined });

/** @param {number} tag of a part of an error */
const seenBit = (tag) => (tag === ERROR_TAG.CAUSE ? SEEN_CAUSE : tag === ERROR_TAG.STACK ? SEEN_STACK : tag === ERROR_TAG.MESSAGE ? SEEN_MESSAGE : 0);

/**
 * A new error without stack frames. Frames of this code must not be visible, and capturing them would take longer than everything else.
 * Without a number as its limit, V8 does not look for frames at all.
 * @param {ErrorConstructor} Class
 * @param {string} [message]
 * @param {{ cause: unknown }} [options]
 * @returns {any}
 */
function withoutFrames(Class, message, options) {
  endOfTurn.expect();
  if (!isLimited) limit = Error.stackTraceLimit;
  isLimited = true;
  limitFrames(undefined);
  try {
    return new Class(message, options);
  } finally {
    restoreLimit();
  }
}

/** The host's `Error.stackTraceLimit`, and whether this file has replaced it. @type {number | undefined} */
let limit;
let isLimited = false;

function restoreLimit() {
  if (!isLimited) return;
  limitFrames(limit);
  isLimited = false;
}

const endOfTurn = new EndOfTurn(restoreLimit);

/** @param {number | undefined} frames */
function limitFrames(frames) {
  try {
    Error.stackTraceLimit = /** @type {any} */ (frames);
  } catch {
    // The host has frozen `Error`.
  }
}

/**
 * @param {number} prototype the byte that selects it; any other byte selects `Error`
 * @param {string | undefined} message
 * @param {boolean} hasCause whether a cause follows
 * @returns {any}
 */
function newError(prototype, message, hasCause) {
  const error = withoutFrames(errorClasses.get(prototype) ?? Error, message, hasCause ? WITH_CAUSE : undefined);
  for (const key of PLACES) delete error[key];
  return error;
}

const NEW_KEYS = ownKeys(withoutFrames(Error));
/** What a new error has besides its stack: in JavaScriptCore, the place of the function that has created it. */
const PLACES = NEW_KEYS.filter((key) => key !== 'stack');

/** @type {(error: any, stack: string | undefined) => void} */
const replaceStack = NEW_KEYS.includes('stack')
  // V8's own property, which `define` replaces at several times the cost.
  ? (error, stack) => { error.stack = stack; }
  : (error, stack) => { define(error, 'stack', stack, true, false); };

/**
 * @param {any} error
 * @param {string | undefined} stack
 * @param {string} [message] of the error
 */
function setStack(error, stack, message = '') {
  replaceStack(error, stack === undefined ? undefined : boundedStack(stack, message));
}

/**
 * @param {any} error
 * @param {unknown} cause
 */
function setCause(error, cause) {
  if (isOwn(error, 'cause')) error.cause = cause;
  else define(error, 'cause', cause, true, false);
}

module.exports = { isPrototype, newError, seenBit, SEEN_MESSAGE, SEEN_STACK, setCause, setStack };
