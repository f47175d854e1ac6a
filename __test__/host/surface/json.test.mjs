// JSON of guests, parsed in slices.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { host } from '../../harness.mjs';
import { Gaps } from '../../hostile/measure.mjs';
import { indices } from '../../wire/collisions.mjs';

const require = createRequire(import.meta.url);
const { now } = require('../../../surface/host/clock.js');
const { parseJson } = require('../../../surface/host/values/json.js');
const { noteOf } = require('../../../surface/host/wire/notes.js');

const LIMITS = { maxWeight: 2 ** 28, until: Infinity, stopped: () => undefined };
const read = async (text, limits) => parseJson(text, { ...LIMITS, ...limits });
/** Longer than one slice. */
const long = (text) => text + ' '.repeat(10_000);

const VALUES = [
  1, -0.5, 1e300, 'text', '', 'a\u0000\n"\\\u2028\ud800', true, false, null, [], {}, [[]], [{}], { a: [] }, [1, [2, [3, { a: { b: [4] } }]], 5],
  { '': 1, a: { '"': '"', '\\': '\\', '\\"': '\\\\"' }, 'longer than a dozen': 'longer than "a dozen' }, { 5: 1, 3: 2, b: 3, a: 4 },
  ['\\', '\\\\', '\\"', '"', 'x\\'.repeat(50)], Array.from({ length: 500 }, (_, index) => ({ index, at: [index, `n${index}`, index / 7] })),
];

test('matches JSON.parse', async () => {
  for (const value of VALUES) {
    for (const space of [undefined, 2, '\t\r\n ']) {
      const text = long(JSON.stringify(value, undefined, space));
      assert.deepEqual(await read(text), JSON.parse(text));
      assert.equal(JSON.stringify(await read(` \n${text}`)), JSON.stringify(value));
    }
  }
});

test('keys of prototypes are own properties, and the last of two wins', async () => {
  const value = await read(long('{"__proto__":{"x":1},"constructor":2,"toString":3,"a":1,"a":2}'));
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepEqual(Object.entries(value), [['__proto__', { x: 1 }], ['constructor', 2], ['toString', 3], ['a', 2]]);
});

test('the keys of large containers are known without a list of them', async () => {
  const keys = Array.from({ length: 3_000 }, (_, index) => `${index % 3 === 0 ? '' : 'k'}${index}`);
  const text = `{${[...keys, 'k1', '9', '__proto__', '__proto__'].map((key) => JSON.stringify(key)).map((key) => `${key}:{"few":[]}`).join()}}`;
  const value = await read(`[${text},${JSON.stringify(keys)},{"a":1},${text}]`);
  for (const object of [value[0], value[3]]) assert.deepEqual(Array.from(noteOf(object).keys).toSorted(), Object.keys(object).toSorted());
  assert.deepEqual(noteOf(value[1]), { keys: [], elements: 3_000 });
  for (const small of [value, value[2], value[0].k1, value[0].k1.few]) assert.equal(noteOf(small), undefined);
});

test('objects with some numbers as keys are not sparse', { skip: !host.startsWith('node') && 'its engine has no such function' }, async () => {
  setFlagsFromString('--allow-natives-syntax');
  const isSparse = Function('object', 'return %HasDictionaryElements(object)');
  assert.ok(isSparse({ 4294967294: 1 }));
  const objects = await read(long(JSON.stringify(Array.from({ length: 50 }, (_, id) => ({ [100 + id]: { 20: id, 30: id }, x: id })))));
  assert.deepEqual(objects.filter((object, id) => isSparse(object) || isSparse(object[100 + id])), []);
  // Engines would allocate room for a million elements.
  assert.ok(isSparse((await read(long('[{"1000000":1}]')))[0]));
});

test('invalid JSON is refused', async () => {
  const broken = ['', '[', '[1', '[1,', '[1,]', '[,]', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{a:1}', '{1:1}', '"', '"a', '"a\\', '"\\x"', '"a" 1', ']', '}', '[1}', '{"a":1]',
    '[1 2]', 'tru', 'nulll', '-', '1e', '0x1', '+1', 'NaN', 'undefined', "'a'", '[1],', '"\\"'];
  for (const text of broken) {
    assert.throws(() => JSON.parse(long(text)), SyntaxError, text);
    await assert.rejects(read(long(text)), { code: 'ERR_ISOLATE_TRANSFER' }, text);
  }
});

test('depth and memory are limited', async () => {
  const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth);
  let levels = 0;
  for (let value = await read(nested(10_000)); value !== undefined; [value] = value) levels += 1;
  assert.equal(levels, 10_000);
  await assert.rejects(read(nested(10_001)), { code: 'ERR_ISOLATE_LIMIT', message: /nested too deeply/ });
  const many = `[${'[],'.repeat(100_000)}0]`;
  assert.equal((await read(many)).length, 100_001);
  await assert.rejects(read(many, { maxWeight: 2 ** 20 }), { code: 'ERR_ISOLATE_LIMIT', message: /1048576 bytes/ });
});

describe('the memory of a value', () => {
  const LIMIT = { code: 'ERR_ISOLATE_LIMIT' };
  const MEGABYTE = 2 ** 20;

  test('wide strings take two bytes for each character, wherever the wide character is', async () => {
    const text = 'x'.repeat(MEGABYTE);
    const maxWeight = 1.5 * MEGABYTE;
    for (const one of [text, `${text}\u00ff`, `\u00e9${text}`]) assert.equal((await read(JSON.stringify([one]), { maxWeight }))[0], one);
    assert.equal((await read(`["${text}\\u00ff"]`, { maxWeight }))[0], `${text}\u00ff`);
    for (const two of [`\u0100${text}`, `${text}\u2028`, `${text}\\u0100`, `\\ud83d\\ude00${text}`]) {
      await assert.rejects(read(`["${two}"]`, { maxWeight }), LIMIT);
      await assert.rejects(read(`{"${two}":1}`, { maxWeight }), LIMIT);
    }
    // The next string is narrow again.
    const two = await read(JSON.stringify(['\u2028', text]), { maxWeight });
    assert.equal(two[1], text);
  });

  const COUNT = 10_000;
  const objects = (keysOf) => JSON.stringify(Array.from({ length: COUNT }, (_, index) => Object.fromEntries(keysOf(index).map((key) => [key, 0]))));
  const permuted = (index) => Array.from({ length: 8 }, (_, at) => `p${at}`).toSorted((a, b) => ((index * 7919) % (a.charCodeAt(1) + 1)) - ((index * 7919) % (b.charCodeAt(1) + 1)));

  test('new names and new sequences of names count, known ones do not', async () => {
    const known = objects(() => ['name', 'other']);
    assert.equal((await read(known, { maxWeight: COUNT * 250 })).length, COUNT);
    await assert.rejects(read(objects((index) => [`name${index}`]), { maxWeight: COUNT * 350 }), LIMIT);
    assert.equal((await read(objects((index) => [`name${index}`]), { maxWeight: COUNT * 600 })).length, COUNT);
    const one = { maxWeight: COUNT * (72 + 12 + 8 * 75) };
    assert.equal((await read(objects(() => permuted(0)), one)).length, COUNT);
    await assert.rejects(read(objects((index) => [...permuted(index), `q${index % 50}`, `r${index % 60}`]), one), LIMIT);
  });

  test('nested objects have separate sequences', async () => {
    const value = JSON.stringify(Array.from({ length: COUNT }, () => ({ a: { b: [{ c: 1 }], d: 2 }, e: { b: [], d: 3 }, f: 4 })));
    assert.deepEqual(await read(value, { maxWeight: COUNT * 1_500 }), JSON.parse(value));
  });

  test('an object with a few large indices uses no memory for others', async () => {
    const text = `[${'{"1000":0,"3000":1},'.repeat(20_000)}{"4294967294":1,"0":2,"4294967294":3}]`;
    const before = process.memoryUsage().heapUsed;
    const value = await read(text);
    assert.ok(process.memoryUsage().heapUsed - before < 100_000_000);
    assert.deepEqual(value, JSON.parse(text));
    await assert.rejects(read(text, { maxWeight: 20_000 * 300 }), LIMIT);
  });
});

test('ends at a deadline and at the end of the call', async () => {
  const text = `[${'{"a":[]},'.repeat(500_000)}0]`;
  await assert.rejects(read(text, { until: now() + 20 }), { code: 'ERR_ISOLATE_DEADLINE' });
  const stopped = new Error('stopped');
  let isOver = false;
  setTimeout(() => { isOver = true; }, 20);
  await assert.rejects(read(text, { stopped: () => (isOver ? stopped : undefined) }), stopped);
});

/** @returns {Promise<{ took: number, gap: number }>} milliseconds, in total and between two turns of the event loop */
async function timed(text) {
  const gaps = new Gaps();
  const start = performance.now();
  await read(text).catch((error) => assert.equal(error.code, 'ERR_ISOLATE_LIMIT'));
  const took = performance.now() - start;
  const gap = gaps.take();
  gaps.stop();
  return { took, gap };
}

const TEXTS = {
  'backslashes': (size) => `["${'\\\\'.repeat(size / 2)}"]`,
  'escaped quotes': (size) => `["${'\\"'.repeat(size / 2)}"]`,
  'short strings before a backslash': (size) => `[${'"a",'.repeat(size / 4)}"\\\\"]`,
  'blanks': (size) => `[${' '.repeat(size)}]`,
  'empty lists': (size) => `[${'[],'.repeat(size / 3)}0]`,
  'keys that look like indices': (size) => `{${indices(size / 15).map((key) => `"${key}":0,`).join('')}"a":0}`,
};

for (const [what, make] of Object.entries(TEXTS)) {
  test(`the time for ${what} is linear, in small chunks`, async () => {
    const size = 1_000_000;
    await timed(make(size / 4));
    const one = await timed(make(size));
    const four = await timed(make(size * 4));
    // Four times as much, with room for noise, but distinguishable from sixteen times as much.
    assert.ok(four.took < one.took * 10 + 3_000, `${one.took} and ${four.took} ms`);
    assert.ok(four.gap < 1_000, `${four.gap} ms`);
  });
}

const PIECE = 16_384;

test('strings are joined from chunks with escapes and surrogates in any position', async () => {
  for (const unit of ['\\n', '\\\\', '\\"', '\\u00e9', '\\ud83d\\ude00', '🙂', '\\\\\\"', '\\\\n', '"'.replace('"', '\\u0022'), 'ab\\\\\\\\\\u005c']) {
    for (let shift = 0; shift < 14; shift += 1) {
      const body = 'x'.repeat(shift) + unit.repeat(Math.ceil((PIECE * 2.2) / unit.length));
      for (const text of [`"${body}"`, `["${body}","${body}"]`, `{"${body}":"${unit}"}`]) {
        assert.deepEqual(await read(text), JSON.parse(text), `${unit} ${shift}`);
      }
    }
  }
  for (const length of [PIECE - 2, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE]) {
    for (const end of ['"', '', '\\"', '\\', '\\u12', '\\u12"', '\n"', '\\x"', '"1', '" ,']) {
      const text = `"${'y'.repeat(length)}${end}`;
      let expected;
      try {
        expected = JSON.parse(text);
      } catch {
        await assert.rejects(read(text), { code: 'ERR_ISOLATE_TRANSFER' }, `${length} ${end}`);
        continue;
      }
      assert.equal(await read(text), expected);
    }
  }
});

test('control characters are refused in short strings, too', async () => {
  for (const text of ['"\n"', '["a\tb"]', '{"\u0001":1}', '{"a":"\u001f"}']) {
    assert.throws(() => JSON.parse(long(text)), SyntaxError);
    await assert.rejects(read(long(text)), { code: 'ERR_ISOLATE_TRANSFER' });
  }
});

test('a long number is refused', async () => {
  assert.equal(await read(`[${'1'.repeat(10_000)}]`).then(([number]) => number), Infinity);
  for (const text of ['1'.repeat(1_000_000), `[0.${'3'.repeat(1_000_000)}]`, `{"a":${'t'.repeat(100_000)}}`, `[1e${'0'.repeat(100_000)}1]`]) {
    await assert.rejects(read(text), { code: 'ERR_ISOLATE_TRANSFER' });
  }
});

const LONG_TOKENS = {
  'a string': (size) => `"${'x'.repeat(size)}"`,
  'a string of escapes': (size) => `["${'\\n'.repeat(size / 2)}"]`,
  'a string of quotes': (size) => `["${'\\"'.repeat(size / 2)}"]`,
  'a string of backslashes': (size) => `["${'\\\\'.repeat(size / 2)}"]`,
  'a string of two bytes': (size) => `["${'\u2200'.repeat(size)}"]`,
  'a key': (size) => `{"${'\\u0041'.repeat(size / 6)}":1}`,
  'blanks before a value': (size) => ' '.repeat(size) + '1',
  'blanks in a list': (size) => `[1${'\n'.repeat(size)},2]`,
  'blanks in an object': (size) => `{"a"${'\t'.repeat(size)}:1}`,
  'blanks at the end': (size) => `[]${'\r'.repeat(size)}`,
};

for (const [what, make] of Object.entries(LONG_TOKENS)) {
  test(`the event loop has turns during ${what}`, async () => {
    const text = make(12_000_000);
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const start = process.cpuUsage();
    await read(text);
    const { user, system } = process.cpuUsage(start);
    isOver = true;
    const took = (user + system) / 1_000;
    assert.ok(turns >= Math.floor(took / 100), `${turns} turns in ${took} ms`);
    // The budget counts each piece, so limits also apply inside one.
    await assert.rejects(read(text, { stopped: () => new Error('stopped') }), { message: 'stopped' });
  });
}
