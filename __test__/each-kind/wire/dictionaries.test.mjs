/* oxlint-disable no-extend-native -- prototypes are not to be trusted */

// Objects of many primitives that have the same names again and again, which the host's own deserializer creates if its engine is V8.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import ivm from '../../../index.js';
import { cloned, encoding, read, Reader, readHooks, write } from '../../wire/helper.mjs';

const require = createRequire(import.meta.url);
const { findDictionary, readDictionary } = require('../../../surface/host/wire/dictionaries.js');
const { isSupported } = require('../../../surface/host/wire/native-reader.js');

/** More than the reader looks at before the host's deserializer gets an object. */
const TIMES = 24;
const VALUES = [0, -1, 63, 64, -65, 8191, 8192, 2 ** 20, -(2 ** 30), 2 ** 31, 1.5, -0, NaN, '', 'text', 'é'.repeat(200), 'ж', 'ж'.repeat(300), null, undefined, true, false];
const NAMES = {
  short: (index) => `key ${index}`,
  'of two bytes per character': (index) => `${'ж'.repeat(index % 5)}имя ${index}`,
  'of letters beyond ASCII': (index) => `größe ${index}`,
  'of Object.prototype': (index) => ['__proto__', 'constructor', 'toString', 'hasOwnProperty'][index] ?? `key ${index}`,
  'that are indices among others': (index) => (index % 50 === 49 ? String(index * 3) : `key ${index}`),
  long: (index) => 'x'.repeat(120 + (index % 12)) + index,
};

function dictionary(count, name, round) {
  const object = {};
  for (let index = 0; index < count; index++) {
    Object.defineProperty(object, name(index), { value: VALUES[(index + round) % VALUES.length], writable: true, enumerable: true, configurable: true });
  }
  return object;
}

const entriesOf = (object) => Reflect.ownKeys(object).map((key) => [key, Object.getOwnPropertyDescriptor(object, key)]);

describe('objects with the same names again and again', () => {
  for (const [what, name] of Object.entries(NAMES)) {
    test(`names ${what}`, () => {
      for (const count of [32, 33, 129, 300, 1000, 1001]) {
        for (let round = 0; round < TIMES; round++) {
          const object = dictionary(count, name, round);
          const { bytes, table } = write({ before: [object, {}], object, after: [{}, object] });
          const before = bytes.slice();
          const copy = read(bytes, table);
          assert.deepEqual(bytes, before);
          assert.equal(copy.before[0], copy.object);
          assert.equal(copy.after[1], copy.object);
          assert.notEqual(copy.after[0], copy.before[1]);
          assert.equal(Object.getPrototypeOf(copy.object), Object.prototype);
          assert.deepEqual(entriesOf(copy.object), entriesOf(object));
        }
      }
    });
  }

  test('are read by the host, if its engine is V8, once their names were seen often', () => {
    const { bytes } = write(dictionary(200, (index) => `own ${index}`, 0));
    const found = findDictionary(bytes, 3);
    assert.deepEqual([found.count, found.end], [200, bytes.length]);
    const results = Array.from({ length: TIMES }, () => readDictionary(bytes, 3, found));
    const first = results.findIndex((result) => result !== undefined);
    if (!isSupported) return assert.equal(first, -1);
    assert.ok(first > 0 && first < TIMES - 2, first);
    assert.deepEqual(results.at(-1).object, dictionary(200, (index) => `own ${index}`, 0));
    // The description of the names counts once.
    assert.ok(results[first].weight > results[first + 1].weight);
    assert.equal(results[first + 1].weight, results.at(-1).weight);
  });

  test('with parts that are no primitives', () => {
    for (let round = 0; round < TIMES; round++) {
      for (const at of [0, 20, 31, 32, 100, 199]) {
        for (const part of [[{ round }], 'ж'.repeat(9000), 7n]) {
          const object = { ...dictionary(200, NAMES.short, round), [`key ${at}`]: part };
          assert.deepEqual(cloned(object), object);
        }
      }
    }
  });

  test('reading in parts', () => {
    const objects = Array.from({ length: TIMES }, (_, round) => dictionary(700, NAMES.short, round));
    const { bytes } = write(objects);
    const reader = new Reader(bytes, [], readHooks);
    let parts = 1;
    while (!reader.readUntil(0)) parts++;
    assert.deepEqual(reader.result, objects);
    assert.ok(parts > 2, parts);
  });

  test('setters of Object.prototype are not called', () => {
    let calls = 0;
    Object.defineProperty(Object.prototype, 'key 40', { set() { calls++; }, get: () => 'inherited', configurable: true });
    try {
      for (let round = 0; round < TIMES; round++) assert.deepEqual(entriesOf(cloned(dictionary(200, NAMES.short, round)))[40][1].value, VALUES[(40 + round) % VALUES.length]);
      assert.equal(calls, 0);
    } finally {
      delete Object.prototype['key 40'];
    }
  });

  test('malformed ones are refused', () => {
    const part = (name, value = ['T']) => ['"', name.length, name, ...value];
    const names = Array.from({ length: 200 }, (_, index) => `name ${index}`);
    const parts = names.flatMap((name) => part(name));
    const length = [200, 1];
    for (let round = 0; round < TIMES; round++) assert.equal(Object.keys(read(encoding('o', ...parts, '{', [...length]))).length, 200);
    const repeated = names.with(150, 'name 50').flatMap((name) => part(name));
    for (let round = 0; round < TIMES; round++) {
      for (const [name, bytes, message] of [
        ['a name twice', ['o', ...repeated, '{', length], /a property twice/],
        ['another number', ['o', ...parts, '{', [201, 1]], /wrong number of properties/],
        ['no number', ['o', ...parts, '{'], /unexpected end/],
        ['no end', ['o', ...parts], /unexpected end/],
        ['half a character', ['o', ...parts.slice(0, -4), ...part('name 199', ['c', 3, 'abc']), '{', length], /half a character/],
        ['a string beyond the end', ['o', ...parts.slice(0, -4), ...part('name 199', ['"', 120, 'abc']), '{', length], /unexpected end/],
        ['a number of six bytes', ['o', ...parts.slice(0, -4), ...part('name 199', ['I', 255, 255, 255, 255, 255, 1]), '{', length], /out of range/],
        ['bytes after it', ['o', ...parts, '{', length, '0'], /bytes after the value/],
      ]) assert.throws(() => read(encoding(...bytes)), message, name);
    }
  });

  test('names that are indices are left to the reader, also with two bytes per character', () => {
    const part = (name, tag) => (tag === '"' ? ['"', name.length, name, 'T'] : ['c', name.length * 2, ...[...name].flatMap((letter) => [letter, 0]), 'T']);
    const names = Array.from({ length: 100 }, (_, index) => `name ${index}`);
    for (const [name, count] of [['12345', undefined], ['x2345', 101], ['\u013912', 101]]) {
      for (const tag of name > '\u00ff' ? ['c'] : ['"', 'c']) {
        const letters = tag === 'c' && name > '\u00ff' ? ['c', 6, 0x39, 0x01, '1', 0, '2', 0, 'T'] : part(name, tag);
        const bytes = encoding('o', ...names.flatMap((each) => part(each, '"')), ...letters, '{', [101]);
        assert.equal(findDictionary(bytes, 3)?.count, count, `${name} ${tag}`);
        assert.equal(read(bytes)[name], true);
      }
    }
  });

  test('the limit of memory applies', () => {
    const { bytes } = write(dictionary(400, NAMES.short, 0));
    for (let round = 0; round < TIMES; round++) {
      assert.throws(() => read(bytes, [], { maxWeight: 30_000 }), { code: 'ERR_ISOLATE_LIMIT' });
      assert.equal(Object.keys(read(bytes, [], { maxWeight: 1_000_000 })).length, 400);
    }
  });

  test('guests write them', () => {
    const isolate = new ivm.Isolate({ memoryLimit: 64 });
    const context = isolate.createContextSync();
    const make = context.evalSync('(round) => Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`user:${index}`, index % 3 === 0 ? `text ${round}` : index + round]))', { reference: true });
    for (let round = 0; round < TIMES; round++) {
      const copy = make.applySync(undefined, [round], { result: { copy: true } });
      assert.deepEqual(copy, Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`user:${index}`, index % 3 === 0 ? `text ${round}` : index + round])));
    }
    isolate.dispose();
  });
});
