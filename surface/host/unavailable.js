'use strict';
// `ivm` where the addon cannot be loaded. Loading the package succeeds, so that a program can call `isAvailable()`. Every class
// and function throws the reason when it is used.

const { CLASSES, FUNCTIONS, SANDBOX_ALIASES, SANDBOX_CLASSES, SANDBOX_FUNCTIONS } = require('./members.js');

/** Static members that throw, too. */
const STATIC = Object.freeze({ ExternalCopy: ['totalExternalSize'], Isolate: ['createSnapshot'] });
const WITH_QUESTION = Object.freeze(['AgentSandbox', 'SubprocessSandbox']);

/**
 * @param {any} reason the error of `loader/native.js`
 * @returns {object} `ivm`, frozen
 */
function createUnavailable(reason) {
  const refuse = () => {
    throw Object.assign(new Error(reason?.message, { cause: reason }), { code: reason?.code });
  };
  /** @param {string} name */
  const classOf = (name) => {
    const Class = { [name]: class { constructor() { refuse(); } } }[name];
    for (const member of /** @type {Record<string, string[]>} */ (STATIC)[name] ?? []) {
      Object.defineProperty(Class, member, member === 'totalExternalSize' ? { get: refuse } : { value: refuse });
    }
    if (WITH_QUESTION.includes(name)) {
      Object.defineProperty(Class, 'isAvailable', { value: () => false });
    }
    return Object.freeze(Class);
  };
  /** @type {Record<string, unknown>} */
  const members = {};
  for (const name of [...CLASSES, ...SANDBOX_CLASSES]) {
    Object.defineProperty(members, name, { value: classOf(name), enumerable: true });
  }
  for (const [name, other] of Object.entries(SANDBOX_ALIASES)) {
    Object.defineProperty(members, name, { value: members[other], enumerable: true });
  }
  for (const name of Object.keys({ ...SANDBOX_FUNCTIONS, ...FUNCTIONS })) {
    Object.defineProperty(members, name, { value: { [name]: () => refuse() }[name], enumerable: true });
  }
  const lib = {};
  for (const name of ['hrtime', 'privateSymbol', 'testHang', 'testOOM']) {
    Object.defineProperty(lib, name, { value: refuse });
  }
  return Object.freeze(Object.defineProperty(Object.create(Object.freeze(members)), 'lib', { value: Object.freeze(lib), enumerable: true }));
}

module.exports = { createUnavailable };
