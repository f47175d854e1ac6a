'use strict';
// Errors of plugins, with the names that plugin systems know.

const { CODE } = require('../../../core/error.js');
const { alone } = require('../../../core/primordials.js');

/** @typedef {'CPU' | 'HOOK' | 'MEMORY' | 'NETWORK' | 'STORAGE'} Violation */

/** @type {Readonly<Record<Violation, string>>} */
const CODE_OF = Object.freeze({
  CPU: CODE.TIMEOUT,
  HOOK: CODE.PERMISSION,
  MEMORY: CODE.MEMORY,
  NETWORK: CODE.PERMISSION,
  STORAGE: CODE.LIMIT,
});

/** @param {unknown} cause */
const because = (cause) => alone(cause === undefined ? {} : { cause });

/** The isolate does not exist, or no longer exists. */
class NotFoundError extends Error {
  code = CODE.NOT_FOUND;
  resourceType;
  resourceId;

  /**
   * @param {string} resourceType
   * @param {string} resourceId
   */
  constructor(resourceType, resourceId) {
    super(`${resourceType} not found: ${resourceId}`);
    this.resourceType = resourceType;
    this.resourceId = resourceId;
  }
}

/** A plugin failed. */
class PluginError extends Error {
  code = CODE.PLUGIN;
  pluginId;
  operation;

  /**
   * @param {string} pluginId
   * @param {string} operation
   * @param {string} message
   * @param {unknown} [cause]
   */
  constructor(pluginId, operation, message, cause) {
    super(message, because(cause));
    this.pluginId = pluginId;
    this.operation = operation;
  }
}

/** A plugin exceeded a limit, or requested something that its manifest does not permit. */
class SandboxViolationError extends Error {
  code;
  pluginId;
  violationType;
  kind;

  /**
   * @param {string} pluginId
   * @param {Violation} violationType
   * @param {string} message
   * @param {unknown} [cause]
   */
  constructor(pluginId, violationType, message, cause) {
    super(message, because(cause));
    this.code = CODE_OF[violationType];
    this.pluginId = pluginId;
    this.violationType = violationType;
    this.kind = violationType;
  }
}

/** @typedef {SandboxViolationError} ViolationError */

const errors = { NotFoundError, PluginError, SandboxViolationError };
for (const [name, Class] of Object.entries(errors)) {
  // As with built-in errors, and even if a bundler renames classes.
  Object.defineProperty(Class.prototype, 'name', alone({ value: name, writable: true, configurable: true }));
}

module.exports = errors;
