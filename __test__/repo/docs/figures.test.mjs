// The measured figures of the pages come from BENCHMARKS.json (scripts/checks/figures.mjs).

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { root } from '../../harness.mjs';
import { arranged } from '../../../bench/tables.mjs';
import { figuresOf, unmarkedIn, withFigures } from '../../../scripts/checks/figures.mjs';

const data = JSON.parse(readFileSync(join(root, 'BENCHMARKS.json'), 'utf8'));

describe('figures', () => {
  test('are written between their marks, and nothing else changes', () => {
    const page = 'It takes <!-- figure:sync -->1 s<!-- /figure -->, or <!-- figure:async --><!-- /figure -->.';
    assert.equal(withFigures(page, { sync: '2 µs', async: '9 µs' }), 'It takes <!-- figure:sync -->2 µs<!-- /figure -->, or <!-- figure:async -->9 µs<!-- /figure -->.');
  });

  test('that do not exist are errors', () => {
    assert.throws(() => withFigures('<!-- figure:nothing --><!-- /figure -->', {}), /no figure 'nothing'/);
  });

  test('follow the measurements', () => {
    const figures = figuresOf(data);
    assert.ok(Object.values(figures).every((text) => /^-?\d/.test(text)), JSON.stringify(figures));
    const slower = structuredClone(data);
    for (const host of ['node24', 'node26', 'bun']) slower[host].rows.find(({ id }) => id === 'createContextSync').times['isolated-v8'].median = 7;
    assert.equal(figuresOf(slower).context, '7 ms');
    assert.equal(figuresOf(slower).sync, figures.sync);
  });

  test('of a part that is not there are errors', () => {
    const { packages, ...less } = data;
    assert.ok(packages);
    assert.throws(() => figuresOf(less), /no part 'packages'/);
  });
});

describe('the page of tables', () => {
  const tableOf = (key) => `<!-- bench:${key} -->\n$& of ${key}\n<!-- /bench:${key} -->`;

  test('has each table in its section, in the order of the hosts', () => {
    const page = arranged([tableOf('values-deno'), tableOf('packages'), tableOf('bun')].join('\n\n'), 'values-node24', '$1');
    const found = Array.from(page.matchAll(/^## .*|(?<=bench:)[\w-]+/gm), ([text]) => text);
    assert.deepEqual([...new Set(found)], [
      '## Isolates, calls and code of guests', 'bun', '## Values of many shapes', 'values-node24', 'values-deno', '## Packages', 'packages',
    ]);
    assert.match(page, /^- \[Values of many shapes\]\(#values-of-many-shapes\): node24, deno$/m);
    assert.ok(page.includes(tableOf('values-deno')) && page.includes(tableOf('bun')) && page.includes('-->\n$1\n<!--'), page);
    assert.equal(arranged(page), page);
    assert.equal(arranged(page, 'bun', 'new').includes(tableOf('bun')), false);
  });

  test('has a section for every table', () => assert.throws(() => arranged('', 'unknown-bun', ''), /no section has all of the tables unknown-bun/));
});

describe('sentences with figures that have no mark', () => {
  for (const text of [
    'A call takes 8 to 30 µs.',
    'Starting a process costs about 10 ms and 20 MB; it ends soon.',
    'With it, an execution is\nslower by 40 ms.',
    '| a sync call | 2 µs |\n| another | none |',
    'Making it took 3 times the memory of 1.5 MB.',
    'Of an execution, 35 % is the isolate.',
    'Shorter names save 0.6 ms.',
  ]) {
    test(`are found: ${text.split('\n')[0]}`, () => assert.equal(unmarkedIn(text).length, 1));
  }

  for (const text of [
    'A call takes <!-- figure:sync -->2 µs<!-- /figure -->.',
    'Reading takes at most 250 ms.',
    'The default is 30,000 ms, which a call may take.',
    'It takes `10 ms`.',
    '```js\n// takes 10 ms\n```\n',
    'Node 24.21.0 takes the flag; a guest of 128 MB does not.',
    'The limits are 30,000 ms and 128 MB.',
    'Above 90 % of its limit, the logger gets a warning.',
  ]) {
    test(`are not: ${text.split('\n')[0]}`, () => assert.deepEqual(unmarkedIn(text), []));
  }
});
