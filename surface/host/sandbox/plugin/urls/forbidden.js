'use strict';
// What a check of URLs refuses, and hostnames that have no value.

const { ROLE } = require('../../../values/visit.js');

/** Thrown for a host that is not allowed. */
class Forbidden extends Error {
  host;

  /** @param {string} host */
  constructor(host) {
    super();
    this.host = host;
  }
}

/** Most of them in the arguments of a call. */
const MAX_UNSET = 1_000;
const NAME = 'hostname';

/**
 * The members `hostname` of a call's arguments that have no value. A client that gets a URL and such options merges both, and connects to this machine
 * instead of the host of the URL, as `http.request` does.
 */
class UnsetHostnames {
  /** @type {{ parent: object, key: any, isRemovable: boolean }[]} */ #all = [];

  /**
   * @param {string} name of a member without a value
   * @param {{ parent: any, key: any, role: number, value: unknown }} place where it is
   */
  add(name, { parent, key, role, value }) {
    if (name !== NAME) {
      return;
    }
    if (this.#all.length === MAX_UNSET) {
      throw new Forbidden('(too many hostnames)');
    }
    this.#all.push({ parent, key, isRemovable: role === ROLE.PROPERTY && value !== '' });
  }

  /** Removes those that are null or undefined. Call it if the arguments also have a URL or a host. */
  remove() {
    for (const { parent, key, isRemovable } of this.#all) {
      if (!isRemovable || !Reflect.deleteProperty(parent, key)) {
        throw new Forbidden(`(${NAME})`);
      }
    }
  }
}

module.exports = { Forbidden, UnsetHostnames };
