// Links between the pages have valid targets, including headings.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root } from '../../harness.mjs';
import { anchorsOf, pages, readPage, withoutCode } from '../../docs/pages.mjs';

const LINK = /\]\(([^)\s]+)\)/g;

for (const page of pages) {
  test(`the links of ${page}`, () => {
    const broken = [...withoutCode(readPage(page)).matchAll(LINK)].map(([, target]) => target).filter((target) => {
      if (/^[a-z]+:/.test(target)) return false;
      const [path, anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).includes(anchor);
    });
    assert.deepEqual(broken, []);
  });
}

test('README leads to every page of docs/', () => {
  const readme = readPage('README.md');
  assert.deepEqual(pages.filter((page) => page !== 'README.md' && !readme.includes(`](${page}`)), []);
});
