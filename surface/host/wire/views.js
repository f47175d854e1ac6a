'use strict';
// Properties of buffers and views, read through getters that were captured at load time, and the kinds of views by name.

const { uncurryThis, getOwnPropertyDescriptor, getPrototypeOf } = require('../../core/primordials.js');
const { VIEW_TAG } = require('./tags.js');

/**
 * @param {object} prototype
 * @param {PropertyKey} name
 * @returns {(self: object) => any} throws if the object does not have the right brand
 */
function getter(prototype, name) {
  const get = getOwnPropertyDescriptor(prototype, name)?.get;
  return uncurryThis(/** @type {() => any} */ (get));
}

const TypedArray = /** @type {any} */ (getPrototypeOf(Uint8Array.prototype));
const typeOf = getter(TypedArray, Symbol.toStringTag);
const arrayBuffer = getter(TypedArray, 'buffer');
const arrayOffset = getter(TypedArray, 'byteOffset');
const arrayLength = getter(TypedArray, 'byteLength');
const at = uncurryThis(TypedArray.at);
const dataBuffer = getter(DataView.prototype, 'buffer');
const dataOffset = getter(DataView.prototype, 'byteOffset');
const dataLength = getter(DataView.prototype, 'byteLength');

const byteLengthOf = getter(ArrayBuffer.prototype, 'byteLength');
const sharedLengthOf = getter(SharedArrayBuffer.prototype, 'byteLength');
const isResizable = getter(ArrayBuffer.prototype, 'resizable');
const maxByteLengthOf = getter(ArrayBuffer.prototype, 'maxByteLength');
const resize = uncurryThis(/** @type {any} */ (ArrayBuffer.prototype).resize);

/** Constructor and element size of each kind of view that the host has. */
const KINDS = new Map();
for (const name of /** @type {(keyof typeof VIEW_TAG)[]} */ (Object.keys(VIEW_TAG))) {
  const View = /** @type {any} */ (globalThis)[name];
  if (View) KINDS.set(VIEW_TAG[name], { View, size: View.BYTES_PER_ELEMENT ?? 1 });
}

/** @param {ArrayBuffer} buffer */
function isDetached(buffer) {
  if (byteLengthOf(buffer) !== 0) return false;
  try {
    // The oldest supported host has no `detached` getter.
    return new Uint8Array(buffer).length !== 0;
  } catch {
    return true;
  }
}

/**
 * A view's kind, buffer, offset and length; undefined if the view lies outside its resizable buffer.
 * @param {ArrayBufferView} view
 */
function partsOf(view) {
  const name = typeOf(view);
  try {
    if (name === undefined) {
      return { tag: VIEW_TAG.DataView, buffer: dataBuffer(view), offset: dataOffset(view), length: dataLength(view) };
    }
    at(view, 0);
  } catch {
    return undefined;
  }
  return {
    tag: /** @type {number} */ (/** @type {any} */ (VIEW_TAG)[name]),
    buffer: arrayBuffer(view),
    offset: arrayOffset(view),
    length: arrayLength(view),
  };
}

/** @param {ArrayBufferView} view @returns {ArrayBuffer | SharedArrayBuffer} */
const bufferOf = (view) => (typeOf(view) === undefined ? dataBuffer(view) : arrayBuffer(view));

/**
 * Whether a view tracks the length of its resizable buffer. Only a change of length reveals this. So the buffer is enlarged by one element,
 * or shortened if it cannot grow, and then gets its length and bytes back.
 * @param {ArrayBufferView} view
 * @param {{ tag: number, buffer: ArrayBuffer, offset: number, length: number }} parts
 */
function isLengthTracking(view, { tag, buffer, offset, length }) {
  const { size } = KINDS.get(tag);
  const whole = byteLengthOf(buffer);
  if (offset + length + size <= whole) return false;
  try {
    if (whole + size <= maxByteLengthOf(buffer)) {
      resize(buffer, whole + size);
      const tracking = partsOf(view)?.length !== length;
      resize(buffer, whole);
      return tracking;
    }
    if (length === 0) return false;
    const tail = new Uint8Array(buffer, whole - size).slice();
    resize(buffer, whole - size);
    const tracking = partsOf(view) !== undefined;
    resize(buffer, whole);
    new Uint8Array(buffer, whole - size).set(tail);
    return tracking;
  } catch {
    // WebAssembly memory can only be resized by whole pages.
    return false;
  }
}

module.exports = {
  bufferOf, byteLengthOf, isDetached, isLengthTracking, isResizable, KINDS, maxByteLengthOf, partsOf, sharedLengthOf,
};
