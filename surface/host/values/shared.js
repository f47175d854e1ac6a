'use strict';
// SharedArrayBuffers of this realm that are shared with isolates. Each has a key, so that a buffer that comes back is the same
// object. The native side keeps the memory of every buffer alive once it has received the buffer; this file keeps nothing alive. Buffers
// over memory that a guest created are identified by that memory on the native side.

const { MESSAGE } = require('../../core/protocol.js');
const { refused } = require('../../core/error.js');

const growableOf = Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, 'growable')?.get;

/**
 * Throws if the buffer is growable: the other realms would not see it grow. Guests get the same error for theirs.
 * @param {SharedArrayBuffer} buffer
 */
function checkShareable(buffer) {
  if (growableOf !== undefined && growableOf.call(buffer) === true) {
    throw refused(MESSAGE.GROWABLE);
  }
}

/** @type {WeakMap<SharedArrayBuffer, number>} */
const keys = new WeakMap();
/** @type {Map<number, WeakRef<SharedArrayBuffer>>} */
const buffers = new Map();
/** @type {FinalizationRegistry<number> | undefined} */
let collected;
let last = 0;

/**
 * @param {SharedArrayBuffer} buffer
 * @returns {number} never 0
 */
function keyOf(buffer) {
  let key = keys.get(buffer);
  if (key === undefined) {
    key = ++last;
    keys.set(buffer, key);
    buffers.set(key, new WeakRef(buffer));
    collected ??= new FinalizationRegistry((gone) => buffers.delete(gone));
    collected.register(buffer, key);
  }
  return key;
}

/**
 * @param {number} key
 * @returns {SharedArrayBuffer | undefined}
 */
const bufferOf = (key) => buffers.get(key)?.deref();

module.exports = { bufferOf, checkShareable, keyOf };
