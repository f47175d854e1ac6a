'use strict';
// Copies of values that stay in their realm. The codec makes them as if they had crossed to an isolate and back.

const { alone } = require('../../core/primordials.js');
const { TAG } = require('../../core/protocol.js');
const { codec } = require('./codec.js');

/**
 * A function that copies values. In the table beside the bytes are the handles and buffers themselves.
 * @param {(object: object) => unknown} carrierOf as in the codec's hooks
 * @param {(buffer: SharedArrayBuffer) => void} [check] throws for a buffer that cannot be shared
 * @param {(handle: any) => unknown} [adopt] what a carrier with `TAG.HANDLE` becomes
 * @param {import('../wire/leaf-writer.js').WriteHooks['stack']} [stack] as in the codec's hooks
 * @returns {{ clone: (value: unknown) => unknown, write: (value: unknown) => { bytes: Uint8Array, table: unknown[] } }} `write` only
 *   makes the bytes; both throw if a value cannot be cloned
 */
function createClone(carrierOf, check, adopt, stack) {
  const writing = alone({
    carrierOf,
    stack,
    /** @param {SharedArrayBuffer} buffer */
    shared(buffer) {
      check?.(buffer);
      return [TAG.SHARED, buffer];
    },
  });
  const reading = alone({
    /** @param {any} carrier */
    resolve(carrier) {
      switch (carrier[0]) {
        case TAG.BUFFER:
          return carrier[1].slice(carrier[2], carrier[2] + carrier[3]);
        case TAG.HANDLE:
          return adopt?.(carrier[1]);
        default:
          return carrier[1];
      }
    },
  });
  /** @param {unknown} value */
  const write = (value) => codec().serialize(value, writing);
  return {
    write,
    clone(value) {
      const { bytes, table } = write(value);
      return codec().deserialize(bytes, table, reading);
    },
  };
}

module.exports = { createClone };
