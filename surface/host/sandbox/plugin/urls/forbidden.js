'use strict';
// The error that ends a check of a call's arguments.

/** Thrown for a host that is not allowed. */
class Forbidden extends Error {
  host;

  /** @param {string} host */
  constructor(host) {
    super();
    this.host = host;
  }
}

module.exports = { Forbidden };
