// What a compilation cache belongs to. V8 compares only the length of the text and runs the code in the cache. So a cache must be accepted
// only for its own code, even if an attacker has chosen both.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ivm, ours } from '../../api/ivm.mjs';

const isolate = new ivm.Isolate();
const context = isolate.createContextSync();

const cacheOf = (code, options = {}) => isolate.compileScriptSync(code, { ...options, produceCachedData: true }).cachedData;
const bytesOf = (cache) => cache.copy();
const wrapped = (bytes) => new ivm.ExternalCopy(bytes);

/** The result of a script that is compiled with this cache, and whether the cache was refused. */
function use(code, cachedData, options = {}) {
  const script = isolate.compileScriptSync(code, { ...options, cachedData });
  return [script.runSync(context, { copy: true }), script.cachedDataRejected];
}

const MASK = 2n ** 64n - 1n;
const FACTOR = 0x9e37_79b9_7f4a_7c15n;
const rotate = (word, by) => ((word << by) | (word >> (64n - by))) & MASK;
const mix = (hash, word) => rotate(((hash ^ word) * FACTOR) & MASK, 29n);
const wordAt = (text, at) => [7, 6, 5, 4, 3, 2, 1, 0].reduce((word, k) => (word << 8n) | BigInt(text.charCodeAt(at + k)), 0n);
const inverse = (() => {
  let result = 1n;
  for (let k = 0; k < 6; k += 1) result = (result * (2n - FACTOR * result)) & MASK;
  return result;
})();
const hash = (text) => {
  let state = mix(0x6a09_e667_f3bc_c908n, BigInt(text.length));
  for (let at = 0; at < text.length; at += 8) state = mix(state, wordAt(text, at));
  return state;
};

/** Chooses the eight characters at `at` in `text` so that its multiplicative hash is `wanted`. The text after them must stay the same. */
function collide(text, at, wanted) {
  let before = mix(0x6a09_e667_f3bc_c908n, BigInt(text.length));
  for (let index = 0; index < at; index += 8) before = mix(before, wordAt(text, index));
  let after = wanted;
  for (let index = text.length - 8; index > at; index -= 8) after = ((rotate(after, 35n) * inverse) & MASK) ^ wordAt(text, index);
  let word = ((rotate(after, 35n) * inverse) & MASK) ^ before;
  let chosen = '';
  for (let k = 0; k < 8; k += 1, word >>= 8n) chosen += String.fromCharCode(Number(word & 0xffn));
  return text.slice(0, at) + chosen + text.slice(at + 8);
}

describe('a cache is accepted for its own code only', ours, () => {
  test('not for another text constructed to have the same 64-bit hash', () => {
    const first = "'first one ran'; /*         */  ".padEnd(64, ' ');
    let found;
    for (let k = 0; found === undefined && k < 1000; k += 1) {
      const draft = `'second one ran'+ ${String(k).padStart(6, '0')};`.padEnd(32, ' ') + `/*${' '.repeat(22)}*/`.padEnd(32, ' ');
      const second = collide(draft.slice(0, 64), 40, hash(first));
      if (!second.slice(34, 56).includes('*/')) found = second;
    }
    assert.equal(hash(found), hash(first));
    assert.notEqual(found, first);
    const cache = cacheOf(first);
    assert.deepEqual(use(first, cache), ['first one ran', false]);
    const [value, rejected] = use(found, cache);
    assert.match(value, /^second one ran\d+$/);
    assert.equal(rejected, true);
  });

  test('not for any other text of the same length', () => {
    const code = "'abcdefghijklmnopqrstuvwxyz'";
    const cache = cacheOf(code);
    for (let at = 1; at < code.length - 1; at += 1) {
      const other = `${code.slice(0, at)}#${code.slice(at + 1)}`;
      assert.deepEqual(use(other, cache), [other.slice(1, -1), true], other);
    }
  });

  test('not for text with the same bytes in characters of another size', () => {
    const wide = "'\u4141\u4242'";
    const narrow = [...wide].map((unit) => String.fromCharCode(unit.charCodeAt(0) & 0xff, unit.charCodeAt(0) >> 8)).join('');
    const cache = cacheOf(wide);
    assert.deepEqual(use(wide, cache), ['\u4141\u4242', false]);
    assert.throws(() => isolate.compileScriptSync(narrow, { cachedData: cache }), { name: 'SyntaxError' });
    const same = `'${'x'.repeat(20)}'`;
    // The same text, sliced out of one with wide characters: it may be stored with two bytes per character.
    const sliced = `\u4141${same}`.slice(1);
    const [value] = use(sliced, cacheOf(same));
    assert.equal(value, 'x'.repeat(20));
  });

  test('not for a module instead of a script, or a script instead of a module', () => {
    const code = 'globalThis.ran = typeof this';
    const module = isolate.compileModuleSync(code, { produceCachedData: true });
    assert.equal(isolate.compileScriptSync(code, { cachedData: module.cachedData }).cachedDataRejected, true);
    assert.equal(isolate.compileModuleSync(code, { cachedData: cacheOf(code) }).cachedDataRejected, true);
    assert.equal(isolate.compileModuleSync(code, { cachedData: module.cachedData }).cachedDataRejected, false);
  });
});

describe('properties that do not depend on the cache', ours, () => {
  test('name, line and column come from the call that uses the cache', () => {
    const code = '(function named() { return new Error("here").stack })()';
    const cache = cacheOf(code, { filename: 'file:///first.js', lineOffset: 7, columnOffset: 3 });
    const [stack, rejected] = use(code, cache, { filename: 'file:///second.js', lineOffset: 40, columnOffset: 0 });
    assert.equal(rejected, false);
    assert.match(stack, /second\.js:41:/);
    assert.doesNotMatch(stack, /first\.js/);
  });

  test('a damaged cache is rejected, and the code runs', () => {
    const code = "'fine'.repeat(2)";
    const bytes = new Uint8Array(bytesOf(cacheOf(code)));
    const damaged = [bytes.slice(0, 1), bytes.slice(0, 40), bytes.slice(0, -1), bytes.slice(1), new Uint8Array([...bytes, 0]), new Uint8Array(bytes.length)];
    for (let at = 0; at < bytes.length; at += 1 + Math.floor(bytes.length / 60)) {
      const one = bytes.slice();
      one[at] ^= 1;
      damaged.push(one);
    }
    for (const one of damaged) assert.deepEqual(use(code, wrapped(one.buffer)), ['finefine', true]);
  });

  test('isolates with and without a snapshot may use each other\'s', () => {
    const snapshot = ivm.Isolate.createSnapshot([{ code: 'globalThis.given = (x) => `${x}!`; given(1)' }]);
    const started = new ivm.Isolate({ snapshot, memoryLimit: 32 });
    const code = "(() => `${typeof given} ${[3, 1, 2].sort().map((x) => x * 2).join()}`)()";
    const here = started.compileScriptSync(code, { produceCachedData: true });
    assert.deepEqual(use(code, here.cachedData)[0], 'undefined 2,4,6');
    const there = started.compileScriptSync(code, { cachedData: cacheOf(code) });
    assert.equal(there.runSync(started.createContextSync()), 'function 2,4,6');
    assert.equal(here.runSync(started.createContextSync()), 'function 2,4,6');
    started.dispose();
  });

  test('another isolate of the same process may use it', () => {
    const code = "'other isolate'";
    const other = new ivm.Isolate({ memoryLimit: 16 });
    const script = other.compileScriptSync(code, { cachedData: cacheOf(code) });
    assert.deepEqual([script.cachedDataRejected, script.runSync(other.createContextSync())], [false, 'other isolate']);
    other.dispose();
  });
});
