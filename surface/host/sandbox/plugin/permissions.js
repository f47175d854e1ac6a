'use strict';
// Checks calls of a plugin against its manifest, and remembers those that were refused.

const { SandboxViolationError } = require('./errors.js');
const { invalid } = require('../../../core/error.js');

/** Most violations that are remembered, since a plugin may still fail because of them. */
const MAX_REMEMBERED = 100;
/** Characters of a missing permission that are shown: the plugin supplies part of it. */
const MAX_NAME = 200;
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** What all contexts of a plugin share. */
class Permissions {
  /** Kinds of violations, by their messages. @type {Map<string, import('./errors.js').Violation>} */ #violations = new Map();
  #plugin;
  #log;

  /**
   * @param {import('./manifest.js').Plugin} plugin
   * @param {import('./context/log.js').PluginLog} log
   */
  constructor(plugin, log) {
    this.#plugin = plugin;
    this.#log = log;
  }

  get plugin() {
    return this.#plugin;
  }

  get log() {
    return this.#log;
  }

  /**
   * @param {import('./errors.js').Violation} kind
   * @param {string} method
   * @param {string} message
   * @param {string} [permission] that is missing
   */
  refuse(kind, method, message, permission) {
    const error = new SandboxViolationError(this.#plugin.id, kind, message);
    this.#violations.delete(message);
    this.#violations.set(message, kind);
    if (this.#violations.size > MAX_REMEMBERED) {
      this.#violations.delete(/** @type {string} */ (this.#violations.keys().next().value));
    }
    this.#log.ofPlugin('warn', 'Permission denied', { method, violationType: kind, permission, reason: message });
    return error;
  }

  /**
   * @param {import('./errors.js').Violation} kind
   * @param {string} method
   * @param {string} permission
   */
  lacks(kind, method, permission) {
    const text = permission.length > MAX_NAME ? `${permission.slice(0, MAX_NAME)}...` : permission;
    // It goes to logs, where line breaks and control characters from a plugin could forge entries.
    const shown = text.replace(INVISIBLE, '\ufffd');
    return this.refuse(kind, method, `Plugin '${this.#plugin.id}' lacks required permission: ${shown}`, shown);
  }

  /**
   * The violation that caused a plugin's failure, found by its message, since only the message of an error leaves the isolate. A violation
   * that the plugin makes up is not found.
   * @param {unknown} error
   * @returns {import('./errors.js').ViolationError | undefined} a new error: each execution's caller gets its own, with the lines of its code
   */
  violationOf(error) {
    const kind = error instanceof Error ? this.#violations.get(error.message) : undefined;
    return kind && new SandboxViolationError(this.#plugin.id, kind, /** @type {Error} */ (error).message);
  }

  /**
   * @param {unknown} event
   * @param {string} method
   * @returns {string}
   */
  checkEvent(event, method) {
    if (typeof event !== 'string') {
      throw invalid('The name of an event must be a string');
    }
    if (!this.#plugin.hooks.has(event)) {
      throw this.lacks('HOOK', method, `hook:${event}`);
    }
    return event;
  }
}

/** @typedef {Permissions} PluginPermissions */

module.exports = { Permissions };
