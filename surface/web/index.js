'use strict';
// The web APIs that a host requests for the guests of a sandbox. This code is evaluated in a realm before any code of its guest.

const { global } = require('./primordials.js');
const { expose } = require('./interfaces.js');
const { DOMException } = require('./exception.js');
const createEncoding = require('./encoding.js');
const createFunctions = require('./functions.js');
const createLateBinding = require('./late-binding.js');
const createObjects = require('./objects.js');
const createSearchParams = require('./search-params.js');
const createUrl = require('./url.js');
const { WEB } = require('./protocol.js');

/** The APIs that throw a `DOMException`. */
const THROWING = WEB.atob | WEB.btoa | WEB.structuredClone | WEB.crypto;

/**
 * @param {any} native functions of the realm's isolate
 * @param {number} wanted bits of WEB
 * @param {any} modules the exports of the package `buffer`, if it is wanted
 * @param {boolean} isForSnapshot whether a snapshot will be made of the realm
 * @returns {((native: any) => number) | undefined} for such a realm: connects the APIs with functions of another isolate, or disconnects
 *   them, and returns `wanted`
 */
function installWeb(native, wanted, modules, isForSnapshot) {
  if (isForSnapshot) {
    const { functions, connect } = createLateBinding(native);
    installWeb(functions, wanted, modules, false);
    return (next) => {
      connect(next);
      return wanted;
    };
  }
  /**
   * @param {number} bit
   * @param {Record<string, unknown>} source
   * @param {string[]} names
   */
  const add = (bit, source, ...names) => {
    for (const name of (wanted & bit) === 0 ? [] : names) {
      expose(global, name, source[name]);
    }
  };
  if ((wanted & THROWING) !== 0) {
    expose(global, 'DOMException', DOMException);
  }
  if ((wanted & (WEB.TextEncoder | WEB.TextDecoder)) !== 0) {
    const encoding = createEncoding(native);
    add(WEB.TextEncoder, encoding, 'TextEncoder');
    add(WEB.TextDecoder, encoding, 'TextDecoder');
  }
  if ((wanted & (WEB.URL | WEB.URLSearchParams)) !== 0) {
    const searchParams = createSearchParams(native);
    add(WEB.URLSearchParams, searchParams, 'URLSearchParams');
    if ((wanted & WEB.URL) !== 0) {
      expose(global, 'URL', createUrl(native, searchParams));
    }
  }
  if ((wanted & (WEB.atob | WEB.btoa | WEB.structuredClone)) !== 0) {
    const functions = createFunctions(native);
    add(WEB.atob, functions, 'atob');
    add(WEB.btoa, functions, 'btoa');
    add(WEB.structuredClone, functions, 'structuredClone');
  }
  add(WEB.Buffer, modules, 'Buffer');
  if ((wanted & (WEB.crypto | WEB.performance)) !== 0) {
    const objects = createObjects(native);
    add(WEB.crypto, objects, 'Crypto', 'crypto');
    add(WEB.performance, objects, 'Performance', 'performance');
  }
  return undefined;
}

module.exports = installWeb;
