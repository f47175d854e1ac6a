'use strict';
// Calls of hooks, and promises, whose outcome no caller waits for. Their errors are reported as those of other host functions without a receiver.

/** @type {typeof import('../surface/host/calls/host-calls.js')} */
const { discard, notify, ORIGIN } =
  // @ts-ignore -- there after a build
  require('../host/index.js').files['outgoing.js']()('surface/host/calls/host-calls.js');

/**
 * Calls a hook of a framework, if there is one. What it throws or rejects with has no effect on the caller.
 * @param {Function | null | undefined} hook
 * @param {unknown[]} args
 */
function notifyHook(hook, args) {
  if (hook !== undefined && hook !== null) notify(ORIGIN.TOOL, hook, undefined, args);
}

/**
 * Discards what a framework has returned. If it is a promise, its rejection is reported.
 * @param {unknown} value
 */
function discardReturned(value) {
  discard(ORIGIN.TOOL, value);
}

module.exports = { discardReturned, notifyHook };
