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

/**
 * Bytes of the longest typed array that engines keep in their heap. Its buffer is created when code first asks for it, which takes several
 * times as long as creating the array.
 */
const MAX_IN_HEAP = 64;
const alignedBytes = new Uint8Array(MAX_IN_HEAP);
const aligned = arrayBuffer(alignedBytes);
const setBytes = uncurryThis(TypedArray.set);

/**
 * A typed array of its own bytes.
 * @param {number} tag of the kind
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} length
 * @returns {any} undefined if there is no such kind, or none of this length
 */
function arrayOfBytes(tag, bytes, start, length) {
  const kind = KINDS.get(tag);
  if (kind === undefined || kind.View === DataView || length % kind.size !== 0) return undefined;
  const { View, size } = kind;
  if (length > MAX_IN_HEAP) {
    const buffer = new ArrayBuffer(length);
    setBytes(new Uint8Array(buffer), new Uint8Array(arrayBuffer(bytes), arrayOffset(bytes) + start, length));
    return new View(buffer);
  }
  // The constructor copies another typed array without looking for a species.
  if (View === Uint8Array) return new Uint8Array(new Uint8Array(arrayBuffer(bytes), arrayOffset(bytes) + start, length));
  for (let index = 0; index < length; index++) alignedBytes[index] = bytes[start + index];
  return new View(new View(aligned, 0, length / size));
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

/** @type {Map<string, number>} */
const tags = new Map(Object.entries(VIEW_TAG));
const tagNamed = uncurryThis(Map.prototype.get);

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
    const length = arrayLength(view);
    // Its length may be 0 because it lies outside.
    if (length === 0) at(view, 0);
    return { tag: /** @type {number} */ (tagNamed(tags, name)), buffer: arrayBuffer(view), offset: arrayOffset(view), length };
  } catch {
    return undefined;
  }
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
  arrayOfBytes, bufferOf, byteLengthOf, isDetached, isLengthTracking, isResizable, KINDS, maxByteLengthOf, partsOf, sharedLengthOf,
};
