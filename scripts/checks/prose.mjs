// `npm run prose`: checks the prose of the repository (pages, comments, names of tests) for turns and spellings that prose/words.txt lists,
// and names in code and of files for words that it lists. Arguments limit it to paths that contain one of them.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { capture, root } from '../process.mjs';
import { namesOf, proseOf } from './prose/passages.mjs';
import { check, checkNames, readWords } from './prose/words.mjs';

const LIST = 'scripts/checks/prose/words.txt';
/** Texts of others, and what programs write. */
const EXCLUDED = /^(vendor|npm|node_modules)\/|\.generated\.|(^|\/)(THIRD-PARTY-NOTICES|LICENSE)/;

const { code, output } = await capture('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
if (code !== 0) throw new Error(`git does not list the files: ${output}`);
const words = readWords(readFileSync(join(root, LIST), 'utf8'));
const wanted = process.argv.slice(2);
let files = 0;
let count = 0;
for (const path of output.split('\n').filter((one) => one !== '' && !EXCLUDED.test(one) && existsSync(join(root, one)))) {
  if (wanted.length > 0 && !wanted.some((part) => path.includes(part))) continue;
  const text = readFileSync(join(root, path), 'utf8');
  const prose = proseOf(path, text);
  if (prose === undefined) continue;
  files += 1;
  for (const { line, found, advice } of [...check(prose, words), ...checkNames(namesOf(path, text), words)]) {
    console.log(`${path}:${line}: "${found}": ${advice}`);
    count += 1;
  }
}
console.log(`${files} files: ${count === 0 ? 'no problems' : `${count} problems (${LIST})`}`);
process.exitCode = count === 0 ? 0 : 1;
