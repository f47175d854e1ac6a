// The README's programs run as printed. Each ```js block of it is a program; what it prints is what its `// prints …`
// comments say, one line each, or the ```text block that follows it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import assert from 'node:assert/strict';
import { entry, moduleEntry, root, run } from '../harness.mjs';

const PACKAGE = 'isolated-v8';
const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;
const PRINTS = /\/\/ prints (.*)$/gm;

const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The programs of a Markdown text, each with the lines it is to print. */
function programsOf(markdown) {
  const blocks = [...markdown.matchAll(FENCE)].map(({ 1: language, 2: code, index, 0: whole }) => ({
    language, code, line: markdown.slice(0, index).split('\n').length, start: index, end: index + whole.length,
  }));
  return blocks.flatMap((block, index) => {
    if (block.language !== 'js') return [];
    const next = blocks[index + 1];
    const follows = next?.language === 'text' && markdown.slice(block.end, next.start).trim() === '';
    const comments = [...block.code.matchAll(PRINTS)].map(([, text]) => text);
    return [{ ...block, printed: follows ? next.code.trimEnd().split('\n') : comments }];
  });
}

const programs = programsOf(readme);

test('blocks and what they print are found', () => {
  const example = '```js\nf(); // prints a b\n// prints c\n```\nand\n```js\ng();\n```\n\n```text\nx\ny\n```\n';
  assert.deepEqual(programsOf(example).map(({ line, printed }) => [line, printed]), [
    [1, ['a b', 'c']],
    [6, ['x', 'y']],
  ]);
});

test('the README has programs, and each shows what it prints', () => {
  assert.ok(programs.length >= 4, `${programs.length} found`);
  assert.deepEqual(readme.match(/^```(?:javascript|mjs|cjs|typescript|ts)\b/gm), null, 'JavaScript stands in ```js blocks');
  for (const { line, printed } of programs) assert.notEqual(printed.length, 0, `README.md:${line}`);
});

describe('README.md', () => {
  for (const { code, line, printed } of programs) {
    test(`the program in line ${line}`, async () => {
      const commonjs = /\brequire\(/.test(code);
      const inspector = JSON.stringify(commonjs ? join(root, 'inspector.js') : pathToFileURL(join(root, 'inspector.js')).href);
      const program = code
        .replaceAll(`'${PACKAGE}'`, JSON.stringify(commonjs ? entry : moduleEntry))
        .replaceAll(`'${PACKAGE}/inspector'`, inspector);
      assert.notEqual(program, code, `it imports '${PACKAGE}'`);
      const { code: exit, signal, stdout, stderr } = await run(program, { bare: true, commonjs });
      assert.deepEqual({ stdout: stdout.trimEnd().split('\n'), stderr, exit, signal }, {
        stdout: printed, stderr: '', exit: 0, signal: null,
      });
    });
  }
});
