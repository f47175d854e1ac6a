'use strict';

/**
 * Adds getters of members that are loaded together, when one of them is used for the first time.
 * @template {object} T
 * @param {T} target
 * @param {readonly string[]} names
 * @param {() => any} load
 * @returns {T}
 */
function lazily(target, names, load) {
  /** @type {any} */
  let loaded;
  for (const name of names) {
    Object.defineProperty(target, name, { enumerable: true, get: () => (loaded ??= load())[name] });
  }
  return target;
}

module.exports = { lazily };
