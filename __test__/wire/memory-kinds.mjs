// Kinds of values with few bytes on the wire and many in the host: `KINDS[name](bytes, index)` appends the `index`-th value of a kind.

import { Buffer } from 'node:buffer';
import { memoryUsage } from 'node:process';

/** The bytes of a value. They grow without producing garbage. */
export class Bytes {
  #bytes = Buffer.alloc(2 ** 20);
  #length = 0;

  get length() {
    return this.#length;
  }

  byte(value) {
    if (this.#length === this.#bytes.length) {
      const longer = Buffer.alloc(this.#length * 2);
      longer.set(this.#bytes);
      this.#bytes = longer;
    }
    this.#bytes[this.#length] = value;
    this.#length += 1;
    return this;
  }

  /** A tag, or several, as characters. */
  tag(text) {
    for (let index = 0; index < text.length; index += 1) this.byte(text.charCodeAt(index));
    return this;
  }

  varint(number) {
    for (; number > 127; number = Math.floor(number / 128)) this.byte((number & 127) | 128);
    return this.byte(number);
  }

  int(number) {
    return this.tag('I').varint(number * 2);
  }

  double(number) {
    const bytes = new Uint8Array(Float64Array.of(number).buffer);
    for (let index = 0; index < 8; index += 1) this.byte(bytes[index]);
    return this;
  }

  text(text) {
    return this.tag('"').varint(text.length).tag(text);
  }

  wide(text) {
    if ((this.#length + 2) % 2 === 1) this.byte(0);
    this.tag('c').varint(text.length * 2);
    for (let index = 0; index < text.length; index += 1) this.byte(text.charCodeAt(index) & 255).byte(text.charCodeAt(index) >> 8);
    return this;
  }

  /** An object with these keys, each with the value that this tag encodes. */
  object(keys, value = '_') {
    this.tag('o');
    for (const key of keys) (typeof key === 'number' ? this.int(key) : this.text(key)).tag(value);
    return this.tag('{').varint(keys.length);
  }

  dense(length, item) {
    this.tag('A').varint(length);
    for (let index = 0; index < length; index += 1) item(this, index);
    return this.tag('$').varint(0).varint(length);
  }

  sparse(length, keys) {
    this.tag('a').varint(length);
    for (const key of keys) (typeof key === 'number' ? this.int(key) : this.text(key)).tag('_');
    return this.tag('@').varint(keys.length).varint(length);
  }

  map(size, item) {
    this.tag(';');
    for (let index = 0; index < size; index += 1) item(this, index);
    return this.tag(':').varint(size * 2);
  }

  set(size, item) {
    this.tag("'");
    for (let index = 0; index < size; index += 1) item(this, index);
    return this.tag(',').varint(size);
  }

  take() {
    return this.#bytes.subarray(0, this.#length);
  }
}

const int = (bytes, index) => bytes.int(index);
const name = (index) => `k${index.toString(36)}`;
const names = (count, prefix = 'a') => Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const sameNames = Object.fromEntries([1, 4, 5, 16, 17, 20, 50, 130].map((count) => [count, names(count)]));
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

/** A pseudorandom order of `count` names, determined by `index`. */
function order(index, count) {
  const rest = LETTERS.slice(0, count);
  let seed = (index * 2_654_435_761) >>> 0;
  for (let last = count - 1; last > 0; last -= 1) {
    const at = seed % (last + 1);
    seed = Math.floor(seed / (last + 1)) || ((index + last) * 40_503) >>> 0;
    [rest[last], rest[at]] = [rest[at], rest[last]];
  }
  return rest;
}

const objects = (count) => (bytes) => bytes.object(sameNames[count]);
const newKeys = (count) => (bytes, index) => bytes.object(Array.from({ length: count }, (_, key) => name(index * count + key)));
const indexKeys = (...keys) => (bytes) => bytes.object(keys);
const arrays = (count, item) => (bytes) => bytes.dense(count, item);

/** Each appends one value of its kind. */
export const KINDS = {
  'small integers': int,
  'doubles': (bytes, index) => bytes.tag('N').double(index + 0.5),
  'doubles among objects': (bytes, index) => (index === 0 ? bytes.object([]) : bytes.tag('N').double(index + 0.5)),
  'doubles after integers': (bytes, index) => (index < 1_000 ? bytes.int(index) : bytes.tag('N').double(index + 0.5)),
  'an object after doubles': (bytes, index) => (index === 1_000 ? bytes.object([]) : bytes.tag('N').double(index + 0.5)),
  'large unsigned integers among objects': (bytes, index) => (index === 0 ? bytes.object([]) : bytes.tag('U').varint(4e9 + index)),
  'BigInts of 0': (bytes) => bytes.tag('Z').varint(0),
  'BigInts of a byte': (bytes) => bytes.tag('Z').varint(2).byte(7),
  'BigInts of 64 bytes': (bytes) => { bytes.tag('Z').varint(128); for (let at = 0; at < 64; at += 1) bytes.byte(7); },
  'empty strings': (bytes) => bytes.text(''),
  'strings of a byte': (bytes, index) => bytes.text(LETTERS[index % 26]),
  'strings of two bytes': (bytes, index) => bytes.text(LETTERS[index % 26] + LETTERS[(index >> 5) % 26]),
  'strings of 14 bytes': (bytes, index) => bytes.text(String(index).padStart(14, 'x')),
  'strings of 100 bytes': (bytes, index) => bytes.text(String(index).padStart(100, 'x')),
  'wide strings of a character': (bytes, index) => bytes.wide(String.fromCharCode(0x4e00 + (index % 5000))),
  'wide strings of 20': (bytes, index) => bytes.wide(String.fromCharCode(0x4e00 + (index % 5000)).repeat(20)),
  'wide strings of ASCII': (bytes, index) => bytes.wide(String(index % 1000).padStart(20, 'y')),
  'UTF-8 strings': (bytes) => bytes.tag('S').varint(2).byte(0xc3).byte(0xa9),
  'empty objects': (bytes) => bytes.object([]),
  'objects with a key': objects(1),
  'objects with 5 keys': objects(5),
  'objects with 17 keys': objects(17),
  'objects with 20 keys': objects(20),
  'objects with 50 keys': objects(50),
  'objects with 130 keys': objects(130),
  'objects with a double': (bytes, index) => bytes.tag('o').text('a').tag('N').double(index + 0.5).tag('{').varint(1),
  'objects with 5 doubles': (bytes, index) => { bytes.tag('o'); for (const key of 'abcde') bytes.text(key).tag('N').double(index + 0.5); bytes.tag('{').varint(5); },
  'objects with a new key': newKeys(1),
  'objects with 2 new keys': newKeys(2),
  'objects with 5 new keys': newKeys(5),
  'objects with 20 new keys': newKeys(20),
  'objects with 200 new keys': newKeys(200),
  'objects with a new key of 40 bytes': (bytes, index) => bytes.object([String(index).padStart(40, 'k')]),
  'objects with a wide key': (bytes, index) => bytes.tag('o').wide(`\u4e00${index}`).tag('_').tag('{').varint(1),
  'objects with 2 known keys in turn': (bytes, index) => bytes.object([name(index % 1000), name(Math.floor(index / 1000) + 1000)]),
  'objects with 8 keys in another order': (bytes, index) => bytes.object(order(index, 8)),
  'objects with 16 keys in another order': (bytes, index) => bytes.object(order(index, 16)),
  'objects with 26 keys in another order': (bytes, index) => bytes.object(order(index, 26)),
  'objects that inherit a key': (bytes) => bytes.object(['constructor']),
  'objects with __proto__': (bytes) => bytes.object(['__proto__']),
  'objects with index 0': indexKeys(0),
  'objects with index 7': indexKeys(7),
  'objects with index 16': indexKeys(16),
  'objects with index 320': indexKeys(320),
  'objects with index 1e6': indexKeys(1e6),
  'objects with indices 0 and 16': indexKeys(0, 16),
  'objects with indices 16 and 320': indexKeys(16, 320),
  'objects with 5 indices': indexKeys(0, 1, 2, 3, 4),
  'objects with 18 indices': indexKeys(...Array.from({ length: 18 }, (_, index) => index)),
  'objects with 18 indices backwards': indexKeys(...Array.from({ length: 18 }, (_, index) => 16 - index).filter((index) => index >= 0)),
  'objects with an index and a key': (bytes) => bytes.object([320, 'a']),
  'objects with a double as key': (bytes, index) => bytes.tag('o').tag('N').double(index + 0.5).tag('_').tag('{').varint(1),
  'objects with an index of 32 bits': (bytes) => bytes.tag('o').tag('U').varint(4_294_967_295).tag('_').tag('{').varint(1),
  'empty arrays': arrays(0),
  'arrays of 1': arrays(1, int),
  'arrays of 2': arrays(2, int),
  'arrays of 4': arrays(4, int),
  'arrays of 5': arrays(5, int),
  'arrays of 17': arrays(17, int),
  'arrays of 18': arrays(18, int),
  'arrays of 42': arrays(42, int),
  'arrays of a double': arrays(1, (bytes, index) => bytes.tag('N').double(index + 0.5)),
  'arrays of 3 doubles': arrays(3, (bytes, index) => bytes.tag('N').double(index + 0.5)),
  'arrays of 18 doubles': arrays(18, (bytes, index) => bytes.tag('N').double(index + 0.5)),
  'arrays of a text': arrays(1, (bytes) => bytes.text('ab')),
  'arrays of an object': arrays(1, (bytes) => bytes.object([])),
  'arrays of a double and an object': arrays(2, (bytes, index) => (index === 0 ? bytes.tag('N').double(0.5) : bytes.object([]))),
  'arrays of a hole': arrays(1, (bytes) => bytes.tag('-')),
  'arrays of 4 holes': arrays(4, (bytes) => bytes.tag('-')),
  'arrays of 5 holes and an element': arrays(6, (bytes, index) => (index < 5 ? bytes.tag('-') : bytes.int(1))),
  'arrays of 20 holes and an element': arrays(21, (bytes, index) => (index < 20 ? bytes.tag('-') : bytes.int(1))),
  'arrays with a name': (bytes) => bytes.tag('A').varint(0).text('a').tag('_').tag('$').varint(1).varint(0),
  'arrays with a new name': (bytes, index) => bytes.tag('A').varint(0).text(name(index)).tag('_').tag('$').varint(1).varint(0),
  'arrays with 5 names': (bytes) => { bytes.tag('A').varint(0); for (const key of 'abcde') bytes.text(key).tag('_'); bytes.tag('$').varint(5).varint(0); },
  'sparse arrays of length 0': (bytes) => bytes.sparse(0, []),
  'sparse arrays of length 16': (bytes) => bytes.sparse(16, []),
  'sparse arrays of length 32 with an element': (bytes) => bytes.sparse(32, [3]),
  'sparse arrays of length 1000': (bytes) => bytes.sparse(1000, []),
  'sparse arrays of length 1e6 with an element': (bytes) => bytes.sparse(1e6, [500]),
  'sparse arrays of length 1e6 with 10 elements': (bytes) => bytes.sparse(1e6, Array.from({ length: 10 }, (_, index) => 500 * index)),
  'empty maps': (bytes) => bytes.map(0),
  'maps of 1': (bytes) => bytes.map(1, (_, index) => int(int(bytes, index), index)),
  'maps of 5': (bytes) => bytes.map(5, (_, index) => int(int(bytes, index), index)),
  'maps of 17': (bytes) => bytes.map(17, (_, index) => int(int(bytes, index), index)),
  'maps of 33': (bytes) => bytes.map(33, (_, index) => int(int(bytes, index), index)),
  'empty sets': (bytes) => bytes.set(0),
  'sets of 1': (bytes) => bytes.set(1, int),
  'sets of 5': (bytes) => bytes.set(5, int),
  'sets of 17': (bytes) => bytes.set(17, int),
  'sets of 33': (bytes) => bytes.set(33, int),
  'sets of 5 doubles': (bytes) => bytes.set(5, (_, index) => bytes.tag('N').double(index + 0.5)),
  'empty errors': (bytes) => bytes.tag('r.'),
  'TypeErrors': (bytes) => bytes.tag('rT.'),
  'errors with a message': (bytes) => bytes.tag('rm').text('ab').tag('.'),
  'errors with all': (bytes) => bytes.tag('rm').text('ab').tag('c').object([]).tag('s').text('cd').tag('.'),
  'dates': (bytes, index) => bytes.tag('D').double(index),
  'regular expressions': (bytes) => bytes.tag('R').text('a').varint(0),
  'regular expressions, each another': (bytes, index) => bytes.tag('R').text(name(index)).varint(index & 3),
  'booleans as objects': (bytes, index) => bytes.tag(index % 2 ? 'y' : 'x'),
  'numbers as objects': (bytes, index) => bytes.tag('n').double(index + 0.5),
  'strings as objects': (bytes) => bytes.tag('s').text('ab'),
  'BigInts as objects': (bytes) => bytes.tag('z').varint(2).byte(7),
  'empty buffers': (bytes) => bytes.tag('B').varint(0),
  'buffers of a byte': (bytes) => bytes.tag('B').varint(1).byte(0),
  'buffers of 100 bytes': (bytes) => { bytes.tag('B').varint(100); for (let at = 0; at < 100; at += 1) bytes.byte(0); },
  'buffers that can grow': (bytes) => bytes.tag('~').varint(0).varint(16),
  'views of an empty buffer': (bytes) => bytes.tag('B').varint(0).tag('VB').varint(0).varint(0).varint(0),
  'DataViews of an empty buffer': (bytes) => bytes.tag('B').varint(0).tag('V?').varint(0).varint(0).varint(0),
};

/** Kinds in which one container has the many parts: `LARGE[name](bytes, count)` appends one. */
export const LARGE = {
  'an object with many keys': (bytes, count) => bytes.object(Array.from({ length: count }, (_, index) => name(index))),
  'an object with many indices': (bytes, count) => bytes.object(Array.from({ length: count }, (_, index) => index)),
  'an object with many indices far apart': (bytes, count) => bytes.object(Array.from({ length: count }, (_, index) => index * 1_100)),
  'an array with many names': (bytes, count) => { bytes.tag('A').varint(0); for (let index = 0; index < count; index += 1) bytes.text(name(index)).tag('_'); bytes.tag('$').varint(count).varint(0); },
  'a sparse array': (bytes, count) => bytes.sparse(count * 1000, Array.from({ length: count }, (_, index) => index * 1000)),
  'a map of numbers': (bytes, count) => bytes.map(count, (_, index) => int(int(bytes, index), index)),
  'a map of doubles': (bytes, count) => bytes.map(count, (_, index) => int(bytes.tag('N').double(index + 0.5), index)),
  'a set of numbers': (bytes, count) => bytes.set(count, int),
  'a set of strings': (bytes, count) => bytes.set(count, (_, index) => bytes.text(name(index))),
};

/**
 * The bytes of a value with `count` of a kind.
 * @param {string} kind
 * @param {number} count
 */
export function bytesOf(kind, count) {
  const bytes = new Bytes();
  bytes.byte(0xff).byte(15);
  if (kind in LARGE) LARGE[kind](bytes, count);
  else bytes.dense(count, (_, index) => KINDS[kind](bytes, index));
  return bytes.take();
}

/** Live memory of this process's heap and of what belongs to it, after a collection. */
export async function liveMemory() {
  if ('Bun' in globalThis) {
    globalThis.Bun.gc(true);
    const { heapStats } = await import('bun:jsc');
    const { heapSize, extraMemorySize } = heapStats();
    return heapSize + extraMemorySize;
  }
  // Bytes of buffers are freed after a collection. Copied ones are garbage of an earlier collection.
  let lowest = Infinity;
  for (let stable = 0; stable < 2;) {
    globalThis.gc();
    await new Promise((resolve) => { setTimeout(resolve, 2); });
    const { heapUsed, external } = memoryUsage();
    const now = heapUsed + external;
    stable = now < lowest - 10_000 ? 0 : stable + 1;
    lowest = Math.min(lowest, now);
  }
  return lowest;
}
