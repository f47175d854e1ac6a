'use strict';
// How large a result is: the bytes of its JSON in UTF-8, and of what JSON has no form for as much as it holds.

const { Buffer } = require('node:buffer');
const { performance } = require('node:perf_hooks');
const { setImmediate } = require('node:timers');
const { types } = require('node:util');

/** Bytes over the limit up to which the true size is found out. */
const TOLERANCE = 2 ** 20;

/** A BigInt is long that takes more digits than these, to the base of 16. */
const LONG_HEX = 1000;
const DECIMAL_PER_HEX = Math.log10(16);

/** Parts that are measured between two looks at the clock, and milliseconds that measuring takes at a time. */
const STRETCH = 512;
const TURN = 16;

/** Keys without a value, which JSON leaves out, that an object must have for its size to be kept: looking at them again takes time, and adds nothing. */
const MANY_LEFT_OUT = 8;

/** Parts that are looked at for each byte of the limit: in a cycle they may add nothing, again and again. */
const PARTS_PER_BYTE = 4;

const NULL = 4;

/**
 * @typedef {object} Frame an object whose parts are being measured
 * @property {object} object
 * @property {Iterator<any>} values
 * @property {string[] | undefined} keys of the values; lists have none
 * @property {number} index of the next
 * @property {boolean} isEmpty
 * @property {number} start size before its parts
 * @property {number} leftOut keys without a value
 * @property {boolean} isCut it has a part that it lies in itself
 */

/** @param {string} text */
const bytesOf = (text) => Buffer.byteLength(JSON.stringify(text));

/**
 * The digits of a BigInt. Those of a long one are only counted, to within one: writing it in tens takes seconds, or minutes.
 * @param {bigint} value
 */
function digitsOf(value) {
  const hex = value.toString(16);
  return hex.length > LONG_HEX ? Math.ceil(hex.length * DECIMAL_PER_HEX) : value.toString().length;
}

/**
 * @param {any} value
 * @returns {number | undefined} bytes of what has no parts; undefined for what has no form in JSON
 */
function leafSize(value) {
  switch (typeof value) {
    case 'string': return bytesOf(value);
    case 'number': return Number.isFinite(value) ? String(value).length : NULL;
    case 'boolean': return value ? 4 : 5;
    case 'bigint': return digitsOf(value) + 2;
    case 'object': return NULL;
    default: return undefined;
  }
}

/**
 * What is measured in the place of an object.
 * @param {any} object
 */
function formOf(object) {
  if (types.isBoxedPrimitive(object)) {
    return object.valueOf();
  }
  if (types.isDate(object)) {
    return Number.isNaN(object.getTime()) ? null : object.toISOString();
  }
  if (object instanceof Error) {
    return { name: object.name, message: object.message, stack: object.stack, cause: object.cause };
  }
  return types.isRegExp(object) ? { source: object.source } : object;
}

/**
 * What is shared counts wherever it stands, as in JSON; a cycle, which has none, is cut where it closes. The bytes are what
 * this returns, Infinity where they are more than `most` by far: what is shared again and again may be larger than any memory.
 * Now and then it lets others go on.
 * @param {unknown} root a clone: data without functions
 * @param {number} most
 * @returns {Generator<undefined, number, unknown>}
 */
function* measure(root, most) {
  /** @type {Frame[]} the objects that the present one lies in */
  const path = [];
  /** The same, to be found there. */
  const inside = new Set();
  /** Sizes of objects whose parts add little for what it takes to look at them. @type {Map<object, number>} */
  const known = new Map();
  let size = 0;

  /**
   * @param {any} value
   * @returns {number | undefined} bytes, without those of its parts
   */
  function enter(value) {
    const form = typeof value === 'object' && value !== null ? formOf(value) : value;
    if (typeof form !== 'object' || form === null) {
      return typeof form === 'string' && form.length > most + TOLERANCE ? Infinity : leafSize(form);
    }
    if (inside.has(value)) {
      path[path.length - 1].isCut = true;
      return NULL;
    }
    const before = known.get(value);
    if (before !== undefined) {
      return before;
    }
    // A view brings its whole buffer.
    const bytes = ArrayBuffer.isView(form) ? form.buffer : form;
    if (types.isAnyArrayBuffer(bytes)) {
      return NULL + bytes.byteLength;
    }
    const isList = Array.isArray(form) || form instanceof Map || form instanceof Set;
    const keys = isList ? undefined : Object.keys(form);
    const values = isList ? form[Symbol.iterator]() : valuesOf(form, /** @type {string[]} */ (keys));
    inside.add(value);
    path.push({ object: value, values, keys, index: 0, isEmpty: true, start: 0, leftOut: 0, isCut: false });
    return 2;
  }

  size += enter(root) ?? 0;
  const mostParts = (most + TOLERANCE) * PARTS_PER_BYTE;
  for (let count = 1; path.length > 0; count += 1) {
    if (size > most + TOLERANCE || count > mostParts) {
      return Infinity;
    }
    if (count % STRETCH === 0) {
      yield;
    }
    const frame = path[path.length - 1];
    const { done, value } = frame.values.next();
    if (done) {
      inside.delete(frame.object);
      path.pop();
      if (frame.isCut && path.length > 0) {
        path[path.length - 1].isCut = true;
      } else if (frame.leftOut >= MANY_LEFT_OUT) {
        known.set(frame.object, size - frame.start + 2);
      }
      continue;
    }
    const key = frame.keys?.[frame.index];
    frame.index += 1;
    const bytes = enter(value) ?? (key === undefined ? NULL : undefined);
    if (bytes === undefined) {
      frame.leftOut += 1;
    } else {
      size += bytes + (frame.isEmpty ? 0 : 1) + (key === undefined ? 0 : bytesOf(key) + 1);
      frame.isEmpty = false;
      const entered = path[path.length - 1];
      if (entered !== frame) {
        entered.start = size;
      }
    }
  }
  return size;
}

/**
 * @param {any} object
 * @param {string[]} keys
 */
function* valuesOf(object, keys) {
  for (const key of keys) {
    yield object[key];
  }
}

/**
 * @param {unknown} value
 * @param {number} most
 * @returns {number} see `measure`
 */
function sizeOf(value, most) {
  const measuring = measure(value, most);
  for (;;) {
    const { done, value: size } = measuring.next();
    if (done) {
      return /** @type {number} */ (size);
    }
  }
}

/**
 * The same, with turns of the event loop for others in between where it takes long.
 * @param {unknown} value
 * @param {number} most
 * @param {() => boolean} isOver whether nobody waits for it any more
 * @returns {Promise<number | undefined>} undefined where it was over before
 */
async function sizeInTurns(value, most, isOver) {
  const measuring = measure(value, most);
  for (let until = performance.now() + TURN; ;) {
    const { done, value: size } = measuring.next();
    if (done) {
      return /** @type {number} */ (size);
    }
    if (performance.now() >= until) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      if (isOver()) {
        return undefined;
      }
      until = performance.now() + TURN;
    }
  }
}

module.exports = { sizeInTurns, sizeOf };
