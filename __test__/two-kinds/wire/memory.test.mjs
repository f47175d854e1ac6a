// A value uses not much more of a host's heap than the reader counts for it, for every kind of value. So a limit on the count limits the host's
// memory.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { collectorArguments, root, runFile } from '../../harness.mjs';
import { KINDS, LARGE } from '../../wire/memory-kinds.mjs';
import { Reader, write } from '../../wire/helper.mjs';

const SIZE = 2 ** 19;
const MAX_RATIO = 1.4;
/** The approximate memory that a collection leaves. */
const NOISE = 2 ** 17;
/** Values that must fit in the default limit of 512 MB. */
const MAX_WEIGHT = 2 ** 29;

test('many of each kind use no more memory than is counted', { timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runFile(join(root, '__test__/wire/memory-subject.mjs'), { args: [String(SIZE)], hostArgs: collectorArguments(), timeout: 110_000 });
  assert.equal(code, 0, stderr);
  const rows = stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(rows.length, Object.keys(KINDS).length + Object.keys(LARGE).length);
  const wrong = rows.filter(({ counted, taken }) => counted < SIZE / 2 || taken > counted * MAX_RATIO + NOISE);
  assert.deepEqual(wrong, []);
});

describe('shared parts of honest values are counted once', () => {
  const weigh = (value) => {
    const reader = new Reader(write(value).bytes, [], { resolve: () => undefined });
    reader.run();
    return reader.weight;
  };
  const keys = (count, prefix) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  const records = (count, names) => Array.from({ length: count }, (_, index) => Object.fromEntries(names.map((name) => [name, index])));

  for (const [what, names] of Object.entries({
    'of 5 keys': keys(5, 'field'), 'of 15 keys': keys(15, 'column'), 'of 60 keys': keys(60, 'value'), 'of wide keys': keys(5, '\u4e2d\u6587'), 'of long keys': keys(5, 'x'.repeat(60)),
  })) {
    test(`records ${what}`, () => {
      const few = weigh(records(100, names));
      const many = weigh(records(1_100, names));
      // Without any new name or shape.
      const max = 84 + names.length * (names.length < 16 ? 16 : 90);
      assert.ok((many - few) / 1_000 <= max, `${(many - few) / 1_000} of ${max}`);
    });
  }

  test('ordinary results are far below the limit', () => {
    assert.ok(weigh(Array.from({ length: 1_000_000 }, (_, index) => index)) < MAX_WEIGHT / 32);
    assert.ok(weigh(records(100_000, keys(5, 'field'))) < MAX_WEIGHT / 16);
    assert.ok(weigh('x'.repeat(30_000_000)) < MAX_WEIGHT / 16);
    assert.ok(weigh(Object.fromEntries(keys(100_000, 'id').map((key) => [key, key]))) < MAX_WEIGHT / 8);
  });
});

test('an index is an index in every form of a key', () => {
  const key = (...bytes) => Uint8Array.from([255, 15, 111, ...bytes, 84, 123, 1]);
  const forms = { integer: key(73, 128, 5), unsigned: key(85, 192, 2), text: key(34, 3, 51, 50, 48), double: key(78, 0, 0, 0, 0, 0, 0, 116, 64) };
  const weights = Object.entries(forms).map(([form, bytes]) => {
    const reader = new Reader(bytes, [], { resolve: () => undefined });
    assert.deepEqual(reader.run(), { 320: true }, form);
    return reader.weight;
  });
  assert.equal(new Set(weights).size, 1, String(weights));
});
