'use strict';
// Reads a plugin's manifest, once: later changes to the object have no effect.

const { MIN_MEMORY } = require('../../../core/protocol.js');
const { checkOptions, own, readNumber, wrong } = require('../common/options.js');
const { readDomain } = require('./urls/urls.js');

const DEFAULT = Object.freeze({ memoryLimit: 128, cpuLimit: 5_000 });
/** The only limits: an unknown limit would not be enforced. Elsewhere, a manifest may have members for other software. */
const LIMITS = Object.freeze(['memoryMB', 'cpuMs']);
const MAX_TIME = 0x7fff_ffff;

/**
 * @typedef {object} Plugin
 * @property {string} id
 * @property {number} memoryLimit megabytes
 * @property {number} cpuLimit milliseconds
 * @property {readonly string[]} domains normalized
 * @property {number | undefined} quota bytes of storage; undefined without the permission
 * @property {ReadonlySet<string>} hooks
 */

/**
 * @param {any} holder
 * @param {string} key
 * @param {string} name
 * @returns {Record<string, any>} empty if there is none
 */
function section(holder, key, name) {
  const value = own(holder, key);
  if (value === undefined || value === null) {
    return {};
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw wrong(name, 'an object');
  }
  return value;
}

/**
 * @param {unknown} list
 * @param {string} name
 * @returns {string[]} empty if there is none
 */
function strings(list, name) {
  if (list === undefined || list === null) {
    return [];
  }
  // Elements are read only once, so that the values that were checked are the ones that are used.
  const elements = Array.isArray(list) ? [...list] : [undefined];
  if (!elements.every((each) => typeof each === 'string')) {
    throw wrong(name, 'an array of strings');
  }
  return elements;
}

/**
 * @param {unknown} list
 * @param {string} name
 * @returns {string[]} normalized
 */
function readDomains(list, name) {
  return strings(list, name).map((entry) => {
    const domain = readDomain(entry);
    if (domain === undefined) {
      throw wrong(name, `an array of domain names, which ${JSON.stringify(entry)} is not`);
    }
    return domain;
  });
}

/**
 * @param {any} manifest
 * @returns {Plugin}
 */
function readManifest(manifest) {
  if (typeof manifest !== 'object' || manifest === null) {
    throw wrong('manifest', 'an object');
  }
  const id = own(manifest, 'id');
  if (typeof id !== 'string' || id === '') {
    throw wrong('manifest.id', 'a string that is not empty');
  }
  const permissions = section(manifest, 'permissions', 'manifest.permissions');
  const network = section(permissions, 'network', 'manifest.permissions.network');
  const domains = readDomains(own(network, 'allowedDomains'), 'manifest.permissions.network.allowedDomains');
  const hasStorage = (own(permissions, 'storage') ?? undefined) !== undefined;
  const storage = section(permissions, 'storage', 'manifest.permissions.storage');
  const limits = checkOptions(own(manifest, 'limits'), LIMITS);
  const cpuLimit = Math.ceil(readNumber(limits, 'cpuMs', DEFAULT.cpuLimit, 1));
  if (cpuLimit > MAX_TIME) {
    throw wrong('cpuMs', `at most ${MAX_TIME}`);
  }
  return Object.freeze({
    id,
    memoryLimit: Math.trunc(readNumber(limits, 'memoryMB', DEFAULT.memoryLimit, MIN_MEMORY)),
    cpuLimit,
    domains: Object.freeze(domains),
    // Without a size, the quota is 0.
    quota: hasStorage ? readNumber(storage, 'maxSize', 0, 0) : undefined,
    hooks: new Set(strings(own(permissions, 'hooks'), 'manifest.permissions.hooks')),
  });
}

module.exports = { MAX_TIME, readDomains, readManifest };
