// What the tests of the codec share: the codec itself, a substitute for the native side's table, and a comparison that sees everything that
// travels: brands, holes, signs of zero, order of keys, shared references and cycles.

import { createRequire } from 'node:module';
import { types } from 'node:util';

const require = createRequire(import.meta.url);
export const { deserialize, Reader, serialize } = require('../../surface/host/wire/index.js');
export const { TAG: CARRIER } = require('../../surface/core/protocol.js');

export const writeHooks = { carrierOf: () => undefined, shared: (buffer) => [CARRIER.SHARED, buffer] };
export const readHooks = { resolve: ([tag, value]) => (tag === CARRIER.SHARED ? value : undefined) };

export const write = (value, hooks) => serialize(value, { ...writeHooks, ...hooks });
export const read = (bytes, table = [], hooks) => deserialize(bytes, table, { ...readHooks, ...hooks });

/** What the native side makes of a table: copies of the ranges that it names, moved buffers as they are. */
export const arrived = (table) =>
  table.map((carrier) => {
    const [tag, buffer, offset, length] = carrier;
    if (tag === CARRIER.BUFFER) return [CARRIER.BUFFER, new Uint8Array(buffer, offset, length).slice().buffer];
    return tag === CARRIER.MOVE ? [CARRIER.BUFFER, structuredClone(buffer, { transfer: [buffer] })] : carrier;
  });

/** Writes and reads a value. */
export function cloned(value, hooks) {
  const { bytes, table } = write(value, hooks);
  return read(bytes, arrived(table), hooks);
}

/** For expressions of the golden file. */
// oxlint-disable-next-line no-eval -- the expressions are checked in
export const evaluate = (expression) => (0, eval)(expression);
export const hex = (bytes) => Buffer.from(bytes).toString('hex');
export const unhex = (text) => new Uint8Array(Buffer.from(text, 'hex'));
/** The bytes of a value, without its header: strings as characters, numbers as they are. */
export const encoding = (...parts) =>
  new Uint8Array([0xff, 16, ...parts.flatMap((part) => (typeof part === 'string' ? [...part].map((c) => c.charCodeAt(0)) : part))]);

// No value that travels is a key. To find that an object is not a key, Node throws internally, with a stack.
const NO_BRANDS = ['isNativeError', 'isEventTarget', 'isKeyObject', 'isCryptoKey'];
const brands = Object.entries(types).filter(([name]) => name.startsWith('is') && !NO_BRANDS.includes(name));
const brandsOf = (object) => brands.filter(([, is]) => is(object)).map(([name]) => name).toSorted().join();

/**
 * The first difference between two values, as text; undefined if there is none.
 */
export function difference(left, right, path = 'value', pairs = new Map()) {
  if (typeof left !== 'object' || left === null) {
    return Object.is(left, right) ? undefined : `${path}: ${String(left)} and ${String(right)}`;
  }
  if (typeof right !== 'object' || right === null) return `${path}: an object and ${String(right)}`;
  if (pairs.has(left)) return pairs.get(left) === right ? undefined : `${path}: shared differently`;
  pairs.set(left, right);
  if (brandsOf(left) !== brandsOf(right)) return `${path}: ${brandsOf(left)} and ${brandsOf(right)}`;
  if (types.isNativeError(left) !== types.isNativeError(right)) return `${path}: only one is an error`;
  if (Array.isArray(left) !== Array.isArray(right)) return `${path}: only one is an array`;
  const inside = (name, one, other) => difference(one, other, `${path}.${name}`, pairs);
  const leaves = [
    [types.isDate, (value) => value.getTime()],
    [types.isRegExp, (value) => `/${value.source}/${value.flags}`],
    [types.isBoxedPrimitive, (value) => value.valueOf()],
    [types.isArrayBuffer, (value) => `${hex(new Uint8Array(value))} ${value.resizable} ${value.maxByteLength}`],
  ];
  for (const [is, of] of leaves) {
    const found = is(left) && inside('content', of(left), of(right));
    if (found) return found;
  }
  if (types.isArrayBufferView(left)) {
    for (const name of ['byteOffset', 'byteLength', 'buffer']) {
      const found = inside(name, left[name], right[name]);
      if (found) return found;
    }
    return undefined;
  }
  if (types.isMap(left) || types.isSet(left)) {
    const [one, other] = [[...left].flat(types.isMap(left) ? 1 : 0), [...right].flat(types.isMap(right) ? 1 : 0)];
    const found = inside('size', left.size, right.size) ?? inside('entries', one, other);
    if (found) return found;
    return undefined;
  }
  if (types.isNativeError(left)) {
    for (const name of ['message', 'stack', 'cause']) {
      const found = inside(`has ${name}`, Object.hasOwn(left, name), Object.hasOwn(right, name)) ?? inside(name, left[name], right[name]);
      if (found) return found;
    }
    return left.constructor === right.constructor ? undefined : `${path}: ${left.constructor.name} and ${right.constructor.name}`;
  }
  if (types.isBoxedPrimitive(left)) return undefined;
  if (Array.isArray(left) && left.length !== right.length) return `${path}.length: ${left.length} and ${right.length}`;
  const keys = Object.keys(left);
  if (keys.join('\0') !== Object.keys(right).join('\0')) return `${path}: keys ${keys} and ${Object.keys(right)}`;
  for (const key of keys) {
    const found = inside(key, left[key], right[key]);
    if (found) return found;
  }
  return undefined;
}
