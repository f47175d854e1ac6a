// Compiles programs written for isolated-vm's type declarations against those and against this package's:
// `node scripts/checks/declarations.mjs <isolated-vm.d.ts> [--members]`
// With `--members` it also removes each declared member in turn, after which the programs must no longer compile. Otherwise members that
// the programs do not use would not be checked.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { capture, root } from '../process.mjs';

const PACKAGE = 'isolated-v8';
const PROGRAMS = ['upstream.ts', 'drop-in.ts'].map((name) => join(root, '__test__/types', name));
const AT_A_TIME = 2;

/** Declared by isolated-vm, and deliberately not here: member → reason. */
const LEFT_OUT = { __proto__: null, lineNubmer: 'misspelt: what both libraries give is `lineNumber`' };

/** A line that declares a name; the name is the second group. */
const DECLARATION = /^(\s*(?:(?:export|readonly|static|private)\s+)*(?:(?:class|type)\s+)?)(\w+)(?=\??\s*[(:=]|\s*\{|<\w+ extends |<[^>]*>\s*[={])/;
const TYPE = /^\s*(?:export\s+)?(?:class|type)\s/;

/** Compiles the programs; resolves with the compiler's output, which is empty if they compile. */
async function compile(folder, declarations) {
  const project = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { typeRoots: [join(root, 'node_modules/@types')], paths: { [PACKAGE]: [declarations] } },
    files: PROGRAMS,
    include: [],
  };
  const file = join(folder, 'tsconfig.json');
  writeFileSync(file, JSON.stringify(project));
  const { code, output } = await capture(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', file]);
  return code === 0 ? '' : output.trim() || `exit code ${code}`;
}

/**
 * Types and their members: the names of lines that begin outside parentheses and comments. Some options are declared again in a union; all
 * lines of a name in one type are one member.
 */
function members(lines) {
  const found = new Map();
  let depth = 0;
  let comment = false;
  let type = '';
  for (const [index, line] of lines.entries()) {
    const outside = depth === 0;
    if (/^\s*\/\*/.test(line)) comment = true;
    // A type in parentheses over several lines, `} & ({ … });`, has members.
    const code = comment ? '' : line.replace(/\/\/.*/, '').replace(/^(\s*\} & )\(\{/, '$1{').replace(/^(\s*\})\)/, '$1');
    if (line.includes('*/')) comment = false;
    depth += code.split('(').length - code.split(')').length;
    const name = DECLARATION.exec(code)?.[2];
    if (!outside || !name || name.startsWith('__')) continue;
    if (TYPE.test(code)) type = name;
    const path = TYPE.test(code) ? type : `${type}.${name}`;
    found.set(path, { path, name, indexes: [...(found.get(path)?.indexes ?? []), index] });
  }
  return [...found.values()];
}

/** Resolves with the members without which the programs still compile. */
async function unusedMembers(folder, text) {
  const lines = text.split('\n');
  const queue = members(lines);
  console.log(`     ${queue.length} types and members`);
  const unused = [];
  const worker = async (_, number) => {
    const own = mkdtempSync(join(folder, `${number}-`));
    const file = join(own, 'isolated-vm.d.ts');
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { indexes } = next;
      writeFileSync(file, lines.map((line, index) => (indexes.includes(index) ? line.replace(DECLARATION, '$1$2__') : line)).join('\n'));
      if (!(await compile(own, file))) unused.push(next);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return unused;
}

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-declarations-'));
try {
  const { values, positionals } = parseArgs({ options: { members: { type: 'boolean' } }, allowPositionals: true });
  if (positionals.length !== 1) throw new Error('usage: node scripts/checks/declarations.mjs <isolated-vm.d.ts> [--members]');
  const theirs = resolve(positionals[0]);
  const text = readFileSync(theirs, 'utf8');
  for (const [name, file] of [['isolated-vm', theirs], [PACKAGE, join(root, 'index.d.ts')]]) {
    const trouble = await compile(folder, file);
    console.log(`${trouble ? 'FAIL' : 'ok  '} with the declarations of ${name}\n${trouble}`.trimEnd());
    if (trouble) process.exitCode = 1;
  }
  if (values.members) {
    for (const { path, name } of await unusedMembers(folder, text)) {
      console.log(LEFT_OUT[name] ? `     left out: ${path}: ${LEFT_OUT[name]}` : `FAIL not used: ${path}`);
      if (!LEFT_OUT[name]) process.exitCode = 1;
    }
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
