// docs/limits-and-errors.md and the type declarations name every code that the sources give to errors, and no other.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root } from '../../harness.mjs';
import { readPage } from '../../docs/pages.mjs';

const CODE = /\bERR_[A-Z]+(?:_[A-Z]+)+\b/g;
const unique = (names) => [...new Set(names)].toSorted();
const codesIn = (text) => unique(text.match(CODE) ?? []);

/** Codes of hosts, which the loader recognizes and never gives. */
const HOSTS = ['ERR_DLOPEN_DISABLED'];

/** Every source, including Rust tests, which use the same names. */
const sources = [
  ...['src', 'surface', 'launcher'].flatMap((folder) => (
    readdirSync(join(root, folder), { recursive: true }).map(String).filter((name) => /\.(rs|js)$/.test(name)).map((name) => join(folder, name))
  )),
  ...readdirSync(root).filter((name) => /^[\w-]+\.m?js$/.test(name)),
];
const given = unique(sources.flatMap((file) => codesIn(readFileSync(join(root, file), 'utf8')))).filter((code) => !HOSTS.includes(code));

test('the sources contain the codes listed here', () => {
  assert.ok(given.includes('ERR_ISOLATE_TIMEOUT') && given.includes('ERR_INVALID_ARG'));
});

test('the page lists all of them, and no others', () => {
  assert.deepEqual(codesIn(readPage('docs/limits-and-errors.md')), given);
});

test("codes of the library have a row, and are in the declarations' ErrorCode", () => {
  const rows = unique([...readPage('docs/limits-and-errors.md').matchAll(/^\| `(ERR_\w+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, code]) => code));
  const declared = /type ErrorCode =([^;]*);/.exec(readFileSync(join(root, 'index.d.ts'), 'utf8'))[1];
  const own = given.filter((code) => code === 'ERR_INVALID_ARG' || code.startsWith('ERR_ISOLATE_'));
  assert.deepEqual(rows, own);
  assert.deepEqual(codesIn(declared), own);
});
