// The programs in README and docs/, and the examples, compile with the package's declarations, so all members and options that they name
// exist. Programs in ```ts blocks are checked strictly. The result does not depend on the host that TypeScript runs on.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root, runFile } from '../../harness.mjs';
import { pages, programsOf, readPage } from '../../docs/pages.mjs';

const tsc = join(root, 'node_modules/typescript/bin/tsc');
const LIMIT_MS = 120_000;

const nameOf = (page, { line, language, commonjs }) => (
  `${page.replace(/\.md$/, '').replaceAll('/', '-')}-${line}.${commonjs ? 'c' : 'm'}${language}`
);

test('programs and examples compile', async () => {
  mkdirSync(join(root, '__test__/.tmp'), { recursive: true });
  const folder = mkdtempSync(join(root, '__test__/.tmp/types-'));
  try {
    const check = async (name, include, strict) => {
      const config = join(folder, `${name}.json`);
      const compilerOptions = { strict, noImplicitAny: strict, noEmit: true };
      writeFileSync(config, JSON.stringify({ extends: '../../../tsconfig.json', compilerOptions, include }));
      const { code, stdout, stderr } = await runFile(tsc, { args: ['--project', config], timeout: LIMIT_MS });
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' });
    };
    for (const page of pages) {
      for (const program of programsOf(readPage(page))) writeFileSync(join(folder, nameOf(page, program)), program.code);
    }
    await check('loose', ['*.mjs', '*.cjs', '../../../examples/*.mjs'], false);
    await check('strict', ['*.mts'], true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
