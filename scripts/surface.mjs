// Writes `host/`: what hosts have of `surface/`, in few files. A host takes half a millisecond to find and read a file, and there are
// more than eighty. `host/index.js` is what loading the package takes; what is required inside of a function only, and what that
// needs beside it, is a file of its own.

import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './process.mjs';

const ENTRY = 'host/index.js';
const INDEX = 'index.js';
const HEAD = "// @ts-nocheck -- made of surface/ by scripts/surface.mjs\n'use strict';\n";
/** Requires of ours in the sources: those of a module as a whole begin their line with a declaration. */
const REQUIRE = /(?<![.\w])require\('(\.{1,2}\/[^']+)'\)/g;
/** Backquotes that begin no text. */
const QUOTED = /'`+'/g;
const EARLY = /^(?:const|let) .*= $/;

/** The sources from `entry` on, with the modules that each requires early and late. */
function read(entry) {
  const modules = new Map();
  const visit = (path) => {
    if (modules.has(path)) return;
    const [early, late] = [new Set(), new Set()];
    modules.set(path, { early, late, text: '' });
    const text = readFileSync(join(root, 'surface', path), 'utf8').replaceAll(REQUIRE, (_, name, offset, whole) => {
      const found = posix.join(posix.dirname(path), name);
      const before = whole.slice(whole.lastIndexOf('\n', offset) + 1, offset);
      // A list of names may take several lines.
      (EARLY.test(before) || /^\} = $/.test(before) ? early : late).add(found);
      return `load('${found}')`;
    });
    modules.get(path).text = withoutComments(text);
    for (const found of [...early, ...late]) visit(found);
  };
  visit(entry);
  return modules;
}

/** Without the comments that begin a line, which hosts would read, too. Texts in backquotes stay as they are. */
function withoutComments(text) {
  let isText = false;
  let isComment = false;
  return text.split('\n').filter((line) => {
    const begins = line.trimStart();
    if (!isText && !isComment && begins.startsWith('//')) return false;
    if (!isText && (isComment || begins.startsWith('/*'))) {
      isComment = !line.includes('*/');
      // Code may follow on the line of a comment.
      return !isComment && !line.trimEnd().endsWith('*/');
    }
    if ((line.replaceAll(QUOTED, '').match(/`/g) ?? []).length % 2 === 1) isText = !isText;
    return isText || begins !== '';
  }).join('\n');
}

/** What loading `path` loads with it. */
function closure(modules, path, found = new Set()) {
  if (!found.has(path)) {
    found.add(path);
    for (const early of modules.get(path).early) closure(modules, early, found);
  }
  return found;
}

/** `host/sandbox/all.js` is `sandbox-all.js`. */
const fileOf = (path) => path.replace(/^host\//, '').replaceAll('/', '-');

/** The files by name, each with the paths of its modules. */
function divide(modules) {
  const core = closure(modules, ENTRY);
  const roots = new Set([...modules.values()].flatMap(({ late }) => [...late]).filter((path) => !core.has(path)));
  const parts = [...roots].map((path) => [path, closure(modules, path)]);
  const count = (path) => parts.filter(([, paths]) => paths.has(path)).length;
  // What two of them have in common is loaded with the package.
  for (const path of modules.keys()) if (count(path) > 1) core.add(path);
  const files = new Map([[INDEX, [...core]]]);
  for (const [path, paths] of parts) files.set(fileOf(path), [...paths].filter((each) => !core.has(each)));
  return files;
}

/** In parentheses engines compile a function at once, and do not look over it first. */
const factories = (modules, paths) => paths.map((path) => `'${path}': (function (module, exports, load) {\n${modules.get(path).text}\n}),\n`).join('');

/** The texts of the files by name. */
function write(modules, files) {
  const texts = new Map();
  const parts = [...files.keys()].filter((file) => file !== INDEX);
  for (const file of parts) texts.set(file, `${HEAD}module.exports = {\n__proto__: null,\n${factories(modules, files.get(file))}};\n`);
  // Its first module is the one that the others are there for.
  const places = parts.map((file) => `'${files.get(file)[0]}': () => require('./${file}'),\n`).join('');
  texts.set(INDEX, `${HEAD}const loaded = { __proto__: null };
const load = (path) => {
  const found = loaded[path];
  if (found !== undefined) return found.exports;
  const module = loaded[path] = { exports: {} };
  if (!(path in factories)) Object.assign(factories, parts[path]());
  factories[path](module, module.exports, load);
  return module.exports;
};
const parts = {
__proto__: null,
${places}};
const factories = {
__proto__: null,
${factories(modules, files.get(INDEX))}};
module.exports = load('${ENTRY}');
`);
  return texts;
}

const textOf = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // not there yet
  }
};

/** What belongs into `host/`: texts by name. */
export function surfaceFiles() {
  const modules = read(ENTRY);
  return write(modules, divide(modules));
}

/** Brings `host/` up to date. */
export function writeSurface() {
  const folder = join(root, 'host');
  const texts = surfaceFiles();
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of texts) {
    if (textOf(join(folder, file)) === text) continue;
    // Renamed into place: another process may be about to load it.
    const next = join(folder, `.${process.pid}.${file}`);
    writeFileSync(next, text);
    renameSync(next, join(folder, file));
  }
  for (const file of readdirSync(folder)) if (!texts.has(file) && !file.startsWith('.')) rmSync(join(folder, file));
}
