// What the comments of the declarations say can be checked: their examples compile, their links lead to headings of docs/, and the codes of
// errors exist.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root, runFile } from '../../harness.mjs';
import { anchorsOf, pages } from '../../docs/pages.mjs';

const tsc = join(root, 'node_modules/typescript/bin/tsc');
const LIMIT_MS = 120_000;
const SITE = 'https://github.com/isolated-v8/isolated-v8/blob/main/';
const COMMENT = /^( *)\/\*\*\n[^]*?^ *\*\/$/gm;
const FENCE = /^```(\w*)\n([^]*?)^```$/gm;

const { CODE } = createRequire(import.meta.url)(join(root, 'surface/core/protocol.js'));
const packageJson = readFileSync(join(root, 'package.json'), 'utf8');
/** Those of the package's exports. */
const declarations = [...new Set(Array.from(packageJson.matchAll(/"types": "\.\/([^"]+)"/g), ([, name]) => name))]
  .map((name) => [name, readFileSync(join(root, name), 'utf8')]);

/** The blocks of code in comments, without the comments' marks. */
const examplesOf = (text) => [...text.matchAll(COMMENT)].flatMap(({ 0: comment, index }) => {
  const line = text.slice(0, index).split('\n').length;
  return [...comment.replaceAll(/^ *\* ?/gm, '').matchAll(FENCE)].map(([, language, code]) => ({ line, language, code }));
});

test('finds examples', () => {
  const text = 'x;\n  /**\n   * One.\n   * @example\n   * ```ts\n   * if (y) {\n   *   f();\n   * }\n   * ```\n   */\n  y;\n';
  assert.deepEqual(examplesOf(text), [{ line: 2, language: 'ts', code: 'if (y) {\n  f();\n}\n' }]);
});

test('examples compile', async () => {
  mkdirSync(join(root, '__test__/.tmp'), { recursive: true });
  const folder = mkdtempSync(join(root, '__test__/.tmp/examples-'));
  try {
    let count = 0;
    for (const [name, text] of declarations) {
      for (const { line, language, code } of examplesOf(text)) {
        assert.equal(language, 'ts', `${name}:${line}`);
        writeFileSync(join(folder, `${name.replaceAll(/[./]/g, '-')}-${line}-${(count += 1)}.mts`), code);
      }
    }
    assert.ok(count >= 20, `${count} examples`);
    const config = join(folder, 'tsconfig.json');
    writeFileSync(config, JSON.stringify({ extends: '../../../tsconfig.json', include: ['*.mts'] }));
    const { code, stdout, stderr } = await runFile(tsc, { args: ['--project', config], timeout: LIMIT_MS });
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

for (const [name, text] of declarations) {
  test(`the links of ${name}`, () => {
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
    const broken = targets.filter((target) => {
      // Files are not in the package, so links between them lead nowhere.
      if (!target.startsWith(SITE)) return !target.startsWith('https:');
      const [page, anchor] = target.slice(SITE.length).split('#');
      return !pages.includes(page) || (anchor !== undefined && !anchorsOf(page).includes(anchor));
    });
    assert.deepEqual(broken, []);
  });

  test(`the codes in ${name}`, () => {
    const known = Object.values(CODE);
    const codes = [...text.matchAll(/\bERR_\w*[A-Z]\b/g)].map(([code]) => code);
    assert.deepEqual(codes.filter((code) => !known.includes(code)), []);
  });
}
