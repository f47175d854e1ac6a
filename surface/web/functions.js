'use strict';
// The functions `atob`, `btoa` and `structuredClone`.

const { freeze, iterator, list, Set, setAdd, setHas, TypeError } = require('./primordials.js');
const { checkCount, dictionary, text } = require('./interfaces.js');
const { DOMException } = require('./exception.js');
const { TRANSFERABLE } = require('./protocol.js');

/**
 * Messages for the results of `native.transferable`; undefined if the object can be transferred.
 * @type {Readonly<Record<number, string | undefined>>}
 */
const REFUSALS = freeze({
  [TRANSFERABLE.YES]: undefined,
  [TRANSFERABLE.OTHER]: 'Value is not transferable',
  [TRANSFERABLE.DETACHED]: 'An ArrayBuffer is detached and could not be cloned.',
  [TRANSFERABLE.KEPT]: 'An ArrayBuffer is not detachable',
});

/** @param {string} message */
const notCloned = (message) => new DOMException(message, 'DataCloneError');

/** @param {any} native */
function createFunctions(native) {
  const { clone, decodeBase64, encodeBase64, transferable } = native;

  /** @param {any} transfer */
  function checkTransfer(transfer) {
    if ((typeof transfer !== 'object' && typeof transfer !== 'function') || transfer === null || typeof transfer[iterator] !== 'function') {
      throw new TypeError('The "options.transfer" property must be iterable');
    }
    const objects = list();
    for (const each of transfer) {
      if ((typeof each !== 'object' && typeof each !== 'function') || each === null) {
        throw new TypeError('The "options.transfer" property must hold objects');
      }
      objects[objects.length] = each;
    }
    const seen = new Set();
    for (let index = 0; index < objects.length; index += 1) {
      const refusal = REFUSALS[transferable(objects[index])];
      if (refusal !== undefined) {
        throw notCloned(refusal);
      }
      if (setHas(seen, objects[index])) {
        throw notCloned(`ArrayBuffer at index ${index} is a duplicate of an earlier ArrayBuffer.`);
      }
      setAdd(seen, objects[index]);
    }
    return objects;
  }

  return freeze({
    /** @param {unknown} data */
    atob(data) {
      checkCount(arguments.length, 1);
      const decoded = decodeBase64(text(data));
      if (decoded === undefined) {
        throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
      }
      return decoded;
    },

    /** @param {unknown} data */
    btoa(data) {
      checkCount(arguments.length, 1);
      const encoded = encodeBase64(text(data));
      if (encoded === undefined) {
        throw new DOMException('Invalid character', 'InvalidCharacterError');
      }
      return encoded;
    },

    /**
     * @param {unknown} value
     * @param {unknown} [options]
     */
    structuredClone(value, options = undefined) {
      checkCount(arguments.length, 1);
      const settings = dictionary(options);
      const transfer = settings === undefined ? undefined : settings.transfer;
      const moved = transfer === undefined ? list() : checkTransfer(transfer);
      const result = clone(value, moved);
      if (typeof result === 'string') {
        throw notCloned(result);
      }
      return result[0];
    },
  });
}

module.exports = createFunctions;
