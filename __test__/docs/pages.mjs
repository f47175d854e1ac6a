// The user documentation (README, CONTRIBUTING, SECURITY and docs/), and the programs in it.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../harness.mjs';

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;
const PRINTS = /\/\/ prints (.*)$/gm;
/** The file name under which a text says to save the program below it. */
const SAVE = /\bsave it as `([\w.-]+)`/i;
const LANGUAGES = ['js', 'ts'];

/** Every page, as its path from the root. */
export const pages = [
  'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'BENCHMARKS.md', 'CHANGELOG.md',
  ...readdirSync(join(root, 'docs'), { recursive: true }).map((name) => `docs/${String(name).replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md')).toSorted(),
];

export const readPage = (page) => readFileSync(join(root, page), 'utf8');

export const withoutCode = (text) => text.replaceAll(/^```[\s\S]*?^```$/gm, '');

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading) => heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\- _]/gu, '').replaceAll(' ', '-');

/** The anchors of a page's headings. */
export const anchorsOf = (page) => [...withoutCode(readPage(page)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading));

/** The programs of a Markdown text, each with the lines that it must print, and the name of its file if the paragraph above has one. */
export function programsOf(markdown) {
  const blocks = [...markdown.matchAll(FENCE)].map(({ 1: language, 2: code, index, 0: whole }) => ({
    language, code, line: markdown.slice(0, index).split('\n').length, start: index, end: index + whole.length,
  }));
  return blocks.flatMap((block, index) => {
    if (!LANGUAGES.includes(block.language)) return [];
    const next = blocks[index + 1];
    const follows = next?.language === 'text' && markdown.slice(block.end, next.start).trim() === '';
    const comments = [...block.code.matchAll(PRINTS)].map(([, text]) => text);
    const above = markdown.slice(blocks[index - 1]?.end ?? 0, block.start).trimEnd().split('\n\n').at(-1);
    const file = SAVE.exec(above)?.[1];
    // In a project of `npm init`, for which npm 11 sets the type CommonJS, only files named `.mjs` or `.mts` are ES modules.
    const commonjs = file === undefined ? /\brequire\(/.test(block.code) : !/\.m[jt]s$/.test(file);
    return [{ ...block, file, commonjs, printed: follows ? next.code.trimEnd().split('\n') : comments }];
  });
}
