// The pages for people: README, CONTRIBUTING, SECURITY and docs/, and the programs in them.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../harness.mjs';

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;
const PRINTS = /\/\/ prints (.*)$/gm;
const LANGUAGES = ['js', 'ts'];

/** Every page, as its path from the root. */
export const pages = [
  'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'BENCHMARKS.md', 'CHANGELOG.md',
  ...readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`).toSorted(),
];

export const readPage = (page) => readFileSync(join(root, page), 'utf8');

/** The programs of a Markdown text, each with the lines it is to print. */
export function programsOf(markdown) {
  const blocks = [...markdown.matchAll(FENCE)].map(({ 1: language, 2: code, index, 0: whole }) => ({
    language, code, line: markdown.slice(0, index).split('\n').length, start: index, end: index + whole.length,
  }));
  return blocks.flatMap((block, index) => {
    if (!LANGUAGES.includes(block.language)) return [];
    const next = blocks[index + 1];
    const follows = next?.language === 'text' && markdown.slice(block.end, next.start).trim() === '';
    const comments = [...block.code.matchAll(PRINTS)].map(([, text]) => text);
    const commonjs = /\brequire\(/.test(block.code);
    return [{ ...block, commonjs, printed: follows ? next.code.trimEnd().split('\n') : comments }];
  });
}
