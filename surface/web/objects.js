'use strict';
// The parts of `crypto` and `performance` that guests have.

const { create, freeze, typedArrayLength, typedArrayName, TypeError } = require('./primordials.js');
const { checkCount, illegalConstructor, shape } = require('./interfaces.js');
const { DOMException } = require('./exception.js');
const { BUFFER_KIND } = require('./protocol.js');

/** Maximum bytes of one call. */
const MAX_BYTES = 65_536;

const WHOLE = freeze({
  __proto__: null, Int8Array: true, Uint8Array: true, Uint8ClampedArray: true, Int16Array: true, Uint16Array: true, Int32Array: true,
  Uint32Array: true, BigInt64Array: true, BigUint64Array: true,
});

/**
 * Creates the only object of an interface that cannot be constructed.
 * @param {new () => object} Class
 * @param {string} name
 */
function only(Class, name) {
  shape(Class, name);
  return create(Class.prototype);
}

/** @param {any} native */
function createObjects(native) {
  const { bufferKind, fillRandom, now, randomUUID } = native;

  class Crypto {
    constructor() {
      throw illegalConstructor('Crypto');
    }

    /** @param {any} array */
    getRandomValues(array) {
      check(this, crypto);
      checkCount(arguments.length, 1);
      if (bufferKind(array) !== BUFFER_KIND.VIEW) {
        throw new TypeError('The "array" argument must be a view of an ArrayBuffer');
      }
      const name = typedArrayName(array);
      if (name === undefined || !(name in WHOLE)) {
        throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
      }
      if (typedArrayLength(array) > MAX_BYTES) {
        throw new DOMException(`The requested length exceeds ${MAX_BYTES} bytes`, 'QuotaExceededError');
      }
      fillRandom(array);
      return array;
    }

    randomUUID() {
      check(this, crypto);
      return randomUUID();
    }
  }

  class Performance {
    constructor() {
      throw illegalConstructor('Performance');
    }

    now() {
      check(this, performance);
      return now();
    }
  }

  const crypto = only(Crypto, 'Crypto');
  const performance = only(Performance, 'Performance');
  return freeze({ Crypto, crypto, Performance, performance });
}

/**
 * @param {unknown} self
 * @param {object} expected
 */
function check(self, expected) {
  if (self !== expected) {
    throw new TypeError('Illegal invocation');
  }
}

module.exports = createObjects;
