// Keys that fall into one bucket of a host's hash tables. Hosts do not seed the hashes of numbers and BigInts; some do not seed those of
// strings.

import { host } from '../harness.mjs';

const MASK = 2n ** 64n - 1n;
const cut = (value) => value & MASK;

/** The number that `(x) => x ^ (x >> shift)` maps to `value`. */
function unshift(value, shift) {
  let result = value;
  for (let done = shift; done < 64n; done += shift) result = value ^ (result >> shift);
  return result;
}

/** The inverse of an odd number modulo 2 ** 64. */
function inverse(odd) {
  let result = 1n;
  for (let step = 0; step < 6; step += 1) result = cut(result * (2n - odd * result));
  return result;
}

const BY_21 = inverse(21n);
const BY_65 = inverse(65n);
const BY_2_18_LESS_1 = inverse(2n ** 18n - 1n);

/** The inverse of V8's 64-bit hash. */
function v8Bits(hash) {
  let bits = unshift(hash, 22n);
  bits = cut(bits * BY_65);
  bits = unshift(bits, 11n);
  bits = cut(bits * BY_21);
  bits = unshift(bits, 31n);
  return cut((bits + 1n) * BY_2_18_LESS_1);
}

/** The number that `(x) => x + ~(x << shift)` maps to `value`. */
function unadd(value, shift) {
  return cut((value + 1n) * inverse(cut(1n - 2n ** shift)));
}

/** The inverse of JavaScriptCore's hash. */
function jscBits(hash) {
  let bits = unshift(hash, 31n);
  bits = unadd(bits, 27n);
  bits = unshift(bits, 15n);
  bits = cut(bits * inverse(9n));
  bits = unshift(bits, 8n);
  bits = unadd(bits, 13n);
  bits = unshift(bits, 22n);
  return unadd(bits, 32n);
}

/** JavaScriptCore adds this to a double's bits. */
const JSC_OFFSET = 2n ** 49n;
const isBun = host === 'bun';
const view = new DataView(new ArrayBuffer(8));

/** Different doubles with equal hashes in this host. */
export function doubles(count) {
  const found = [];
  for (let index = 1n; found.length < count; index += 1n) {
    const hash = index << 32n;
    view.setBigUint64(0, isBun ? cut(jscBits(hash) - JSC_OFFSET) : v8Bits(hash));
    const number = view.getFloat64(0);
    if (Number.isFinite(number) && !Number.isInteger(number) && Math.abs(number) > 1e-300) found.push(number);
  }
  return found;
}

/** BigInts with equal low 64 bits. */
export const bigints = (count) => Array.from({ length: count }, (_, index) => (BigInt(index + 1) << 64n) + 5n);

/** Strings that look like array indices, whose hashes are their values and lengths. */
export const indices = (count) => Array.from({ length: count }, (_, index) => String((index + 1) * 65_536));
