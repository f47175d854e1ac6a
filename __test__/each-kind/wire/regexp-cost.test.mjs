// Regular expressions that a host would create from a guest's data. On every host, costly ones are refused in advance, and the others are
// created quickly.

import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { read, write } from '../../wire/helper.mjs';

const require = createRequire(import.meta.url);
const { costOf } = require('../../../surface/host/wire/regexp-cost.js');
const { REGEXP_FLAG } = require('../../../surface/host/wire/tags.js');

const MAX_LENGTH = 2 ** 15;
const isCostly = (source, bits) => costOf(source, bits) === Infinity;
/** Milliseconds of processor time: more than any takes if processors are not shared. */
const MAX_MS = 400;

/** `count` characters, no two of them adjacent. */
const scattered = (count) => Array.from({ length: count }, (_, index) => String.fromCharCode(0x3400 + (index * 2) % 0x9000)).join('');
const ranges = (count) => Array.from({ length: count }, (_, index) => `${String.fromCharCode(0x3400 + (index * 31_676) % 0x9000)}-\u{cfff}`).join('');
const strings = (count) => `\\q{${Array.from({ length: count }, (_, index) => `${index.toString(36)}zz`).join('|')}}`;

/** Sources that can be made larger and larger, by name: the source of a size, and flags. */
const GROWING = {
  'classes in a class': [(n) => `[${scattered(4 * n)}${'[a]'.repeat(n)}]`, 'v'],
  'negated classes in a class': [(n) => `[${scattered(4 * n)}${'[^a]'.repeat(n)}]`, 'v'],
  'classes in classes in classes': [(n) => `${'['.repeat(n)}${scattered(4 * n)}${']'.repeat(n)}`, 'v'],
  'subtracted classes': [(n) => `[[${scattered(4 * n)}]${'--[a]'.repeat(n)}]`, 'v'],
  'subtracted characters': [(n) => `[[${scattered(4 * n)}]${'--a'.repeat(n)}]`, 'v'],
  'intersections of classes': [(n) => `[[${scattered(4 * n)}]${'&&[a-\uffff]'.repeat(n)}]`, 'v'],
  'intersections of large classes': [(n) => `[[${scattered(10 * n)}]${`&&[${scattered(10 * n)}]`.repeat(2)}]`, 'v'],
  'intersections of properties': [(n) => `[\\p{L}${'&&\\p{L}'.repeat(n)}]`, 'v'],
  'classes beside a property': [(n) => `[\\p{L}${'[a]'.repeat(n)}]`, 'v'],
  'subtracted strings': [(n) => `[${strings(n)}${'--\\q{ab}'.repeat(n)}]`, 'v'],
  'strings in classes': [(n) => `[${strings(n)}${'[\\q{ab}]'.repeat(n)}]`, 'iv'],
  'characters in no order': [(n) => `[${[...scattered(4 * n)].toReversed().join('')}]`, 'u'],
  'a set of characters in no order': [(n) => `[${[...scattered(4 * n)].toReversed().join('')}]`, 'v'],
  'large characters in no order': [(n) => `[${Array.from({ length: n }, (_, index) => String.fromCodePoint(0x2_fff0 - 2 * index)).join('')}]`, 'v'],
  'named backreferences': [(n) => `${Array.from({ length: 2 + Math.floor(n / 4) }, (_, index) => `(?<a${index}>)`).join('')}${'\\k<a1>'.repeat(n)}`, 'u'],
  'characters in any case': [(n) => `[${scattered(n)}]`, 'iv'],
  'other characters in any case': [(n) => `[^${scattered(n)}]`, 'iv'],
  'classes in a class in any case': [(n) => `[${scattered(4 * n)}${'[a]'.repeat(n)}]`, 'iv'],
  'ranges in any case': [(n) => '[\u0100-\u1fff]'.repeat(n), 'iu'],
  'sets of ranges in any case': [(n) => '[\u0100-\u1fff]'.repeat(n), 'iv'],
  'other ranges in any case': [(n) => '[^\u0100-\u1fff]'.repeat(n), 'iv'],
  'ranges in a part in any case': [(n) => `(?i:${'[\u0100-\u1fff]'.repeat(n)})`, 'u'],
  'ranges in a class': [(n) => `[${ranges(n)}]`, 'u'],
  'properties in any case': [(n) => '\\p{L}'.repeat(n), 'iu'],
  'properties of strings': [(n) => '\\p{RGI_Emoji}'.repeat(n), 'iv'],
  'classes of letters in a class in any case': [(n) => `[${'\\W'.repeat(n)}]`, 'iu'],
  'classes of no letters in a class in any case': [(n) => `[^${'\\w\\D'.repeat(n)}]`, 'iv'],
  'classes of letters in any case': [(n) => '\\W'.repeat(n), 'iu'],
  'properties in a class': [(n) => `[${'\\p{L}'.repeat(n)}]`, 'u'],
  'negated properties in a class in any case': [(n) => `[${'\\P{L}'.repeat(n)}]`, 'iv'],
  'properties of strings as they are': [(n) => '\\p{RGI_Emoji}'.repeat(n), 'v'],
  'properties of strings in classes': [(n) => `[${'[\\p{RGI_Emoji}]'.repeat(n)}]`, 'v'],
  'intersections of properties of strings': [(n) => `[\\p{RGI_Emoji}${'&&\\p{RGI_Emoji}'.repeat(n)}]`, 'v'],
  'ranges of all characters in any case': [(n) => '[\u0100-\uffff]'.repeat(n), 'iv'],
  'many ranges in any case': [(n) => `[${ranges(n)}]`, 'iu'],
  'named groups beside each other': [(n) => Array.from({ length: n }, (_, index) => `(?<a${index}>a)`).join('|'), 'u'],
  'negated classes of no words': [(n) => '[^\\W]'.repeat(n), 'iv'],
  'named groups': [(n) => Array.from({ length: n }, (_, index) => `(?<a${index}>a)`).join(''), ''],
  'groups in groups': [(n) => `${'('.repeat(n)}${')'.repeat(n)}`, ''],
  'characters': [(n) => 'Σ'.repeat(n), 'iu'],
};

const bitsOf = (flags) => [...flags].reduce((bits, flag) => bits | REGEXP_FLAG[flag], 0);

/** The largest size that is not refused. */
function largest(make, bits) {
  let [passes, fails] = [0, MAX_LENGTH + 1];
  while (fails - passes > 1) {
    const size = Math.floor((passes + fails) / 2);
    if (isCostly(make(size), bits)) fails = size;
    else passes = size;
  }
  return passes;
}

const unknown = (source, flags) => {
  try {
    RegExp(source, flags);
    return false;
  } catch {
    return true;
  }
};

describe('has a limit, and compiles quickly below it', () => {
  for (const [name, [make, flags]] of Object.entries(GROWING)) {
    test(name, { skip: unknown(make(3), flags) && 'not of this host' }, () => {
      const size = largest(make, bitsOf(flags));
      assert.ok(size > 0 && size <= MAX_LENGTH, `${size}`);
      const source = make(size);
      const before = process.cpuUsage();
      assert.equal(isCostly(source, bitsOf(flags)), false);
      assert.ok(new RegExp(source, flags));
      const { user, system } = process.cpuUsage(before);
      assert.ok((user + system) / 1_000 < MAX_MS, `${size}: ${(user + system) / 1_000} ms`);
    });
  }
});

describe('patterns of real programs are accepted', () => {
  const words = (count, separator) => Array.from({ length: count }, (_, index) => `some-${index.toString(36)}-word`).join(separator);
  const USUAL = {
    'a long list of words in any case': [`^(?:${words(2_000, '|')})$`, 'iu'],
    'an address': ['^[a-z0-9.!#$%&\'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$', 'i'],
    'letters but some': ['[[\\p{L}\\p{N}_]--[aeiouäöü]--\\q{ch|sch}]+(?:[[a-z]&&[^xyz]]|\\p{Emoji}){2,}', 'v'],
    'a thousand ranges': [`[${ranges(1_000)}]`, 'u'],
    'six hundred named groups': [Array.from({ length: 600 }, (_, index) => `(?<t${index}>kw${index})`).join('|'), 'u'],
    'a thousand ranges in any case': [`[${ranges(1_000)}]`, 'iu'],
    'words and emoji': ['^(?:\\p{RGI_Emoji}|\\p{L}|\\p{N}|\\s)+$|^\\p{RGI_Emoji}{1,20}$|^[\\p{RGI_Emoji}a-z]+(?=\\p{RGI_Emoji})[\\p{RGI_Emoji}--\\q{⭐}]$', 'v'],
    'emoji in any case': [Array.from({ length: 5 }, (_, index) => `${index}\\p{RGI_Emoji}`).join('|'), 'iv'],
    'four hundred properties': ['(?:\\p{Lu}\\p{Ll}+)'.repeat(200), 'u'],
    'ten thousand digits': ['\\d'.repeat(10_000), 'iu'],
    'escaped brackets': ['\\[\\]'.repeat(1_000), 'v'],
  };
  for (const [name, [source, flags]] of Object.entries(USUAL)) test(name, () => assert.equal(isCostly(source, bitsOf(flags)), false));
});

describe('of a value', () => {
  const nested = `${'['.repeat(20)}^x${']'.repeat(20)}`;
  const skip = unknown(nested, 'v') && 'not of this host';
  const several = (count, source, flags) => {
    const { bytes, table } = write(Array.from({ length: count }, () => new RegExp(source, flags)));
    return () => read(bytes, table);
  };

  test('many costly patterns together are refused, however short they are', { skip }, () => {
    assert.equal(several(3, nested, 'v')().length, 3);
    assert.throws(several(4, nested, 'v'), /regular expressions that take too long to make/);
  });

  test('many cheap patterns are accepted', () => {
    assert.equal(several(50_000, '^/users/(?<id>[0-9a-f-]+)/?$', '').call().length, 50_000);
    assert.equal(several(200, '^\\p{L}+$', 'u').call().length, 200);
  });
});
