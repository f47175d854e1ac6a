// The programs in README and docs/ run as printed. Each ```js or ```ts block is a program. Its expected output is in its `// prints …`
// comments, one line each, or in the ```text block that follows it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import assert from 'node:assert/strict';
import { transformSync } from '@swc/wasm-typescript';
import { entry, moduleEntry, root, run } from '../../harness.mjs';
import { pages, programsOf, readPage } from '../../docs/pages.mjs';

const PACKAGE = 'isolated-v8';
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Programs have limits of their own; a busy machine needs more time for the rest. */
const LIMIT_MS = 90_000;

test('finds blocks and their output', () => {
  const example = '```js\nf(); // prints a b\n// prints c\n```\nand\n```ts\ng();\n```\n\n```text\nx\ny\n```\n';
  assert.deepEqual(programsOf(example).map(({ line, language, printed }) => [line, language, printed]), [
    [1, 'js', ['a b', 'c']],
    [6, 'ts', ['x', 'y']],
  ]);
});

test('the name of a file sets its module type', () => {
  const saved = (file, code) => programsOf(`\`\`\`sh\nls\n\`\`\`\n\nSave it as \`${file}\`:\n\n\`\`\`js\n${code}\n\`\`\`\n`).map((program) => [program.file, program.commonjs]);
  assert.deepEqual(saved('a.mjs', 'import "a";'), [['a.mjs', false]]);
  assert.deepEqual(saved('a.cjs', 'require("a");'), [['a.cjs', true]]);
  assert.deepEqual(saved('main.js', 'import "a";'), [['main.js', true]]);
  assert.deepEqual(programsOf('Save it as `a.mjs`.\n\nSomething else.\n\n```js\nrequire("a");\n```\n').map(({ file, commonjs }) => [file, commonjs]), [[undefined, true]]);
});

test('README names the file of each program', () => {
  for (const { line, file } of programsOf(readPage('README.md'))) assert.match(file ?? '', /\.[mc]js$/, `README.md:${line}`);
});

test('every page has programs, each with its output', () => {
  assert.ok(programsOf(readPage('README.md')).length >= 3);
  for (const page of pages) {
    const text = readPage(page);
    assert.deepEqual(text.match(/^```(?:javascript|mjs|cjs|typescript|mts)\b/gm), null, `programs of ${page} stand in \`\`\`js and \`\`\`ts blocks`);
    for (const { line, printed } of programsOf(text)) assert.notEqual(printed.length, 0, `${page}:${line}`);
  }
});

/** The program with this checkout in place of the installed package. */
function inPlace({ code, language, commonjs }) {
  const part = (_, name) => {
    const path = join(root, manifest.exports[`./${name}`].default);
    return JSON.stringify(commonjs ? path : pathToFileURL(path).href);
  };
  const plain = language === 'ts' ? transformSync(code, { mode: 'strip-only', module: true }).code : code;
  const program = plain
    .replaceAll(`'${PACKAGE}'`, JSON.stringify(commonjs ? entry : moduleEntry))
    .replaceAll(new RegExp(`'${PACKAGE}/([\\w-]+)'`, 'g'), part);
  assert.notEqual(program, plain, `it imports '${PACKAGE}'`);
  return program;
}

for (const page of pages.filter((name) => programsOf(readPage(name)).length > 0)) {
  describe(page, () => {
    for (const program of programsOf(readPage(page))) {
      test(`the program at line ${program.line}`, async () => {
        const { code: exit, signal, stdout, stderr } = await run(inPlace(program), { bare: true, commonjs: program.commonjs, timeout: LIMIT_MS });
        assert.deepEqual({ stdout: stdout.trimEnd().split('\n'), stderr, exit, signal }, {
          stdout: program.printed, stderr: '', exit: 0, signal: null,
        });
      });
    }
  });
}
