'use strict';
// Functions of JavaScript that take the place of native functions in the realm from which a snapshot is made, since a snapshot cannot contain
// native ones. They call the native functions that are connected: while the snapshot's scripts run, and again in each context with these APIs.

const { apply, create, freeze, ownKeys, TypeError } = require('./primordials.js');

/** What must not be part of a snapshot: it would be the same in every isolate, or has a native part. */
const REFUSED = freeze({
  __proto__: null,
  beginStream: 'a TextDecoder in the middle of a stream',
  fillRandom: 'random values',
  randomUUID: 'random values',
});

/** @param {any} native functions of the isolate that makes the snapshot */
function createLateBinding(native) {
  /** @type {any} undefined while there are none */
  let connected = native;
  let isMaking = true;

  /** @param {string} name */
  const refuse = (name) => {
    if (isMaking && name in REFUSED) {
      throw new TypeError(`A snapshot cannot have ${/** @type {any} */ (REFUSED)[name]}`);
    }
  };

  const functions = create(null);
  const names = ownKeys(native);
  for (let index = 0; index < names.length; index += 1) {
    const name = /** @type {string} */ (names[index]);
    functions[name] = (/** @type {any[]} */ ...args) => {
      if (connected === undefined) {
        throw new TypeError('This context has no web APIs: they are an option of `createContext`, and of sandboxes');
      }
      refuse(name);
      return apply(connected[name], undefined, args);
    };
  }

  return {
    functions,
    /** @param {any} next functions of another isolate, or undefined */
    connect(next) {
      connected = next;
      isMaking = false;
    },
  };
}

module.exports = createLateBinding;
