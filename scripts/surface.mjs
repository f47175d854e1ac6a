// Writes `host/index.js`: what hosts have of `surface/`, in one file. A host takes half a millisecond to find and read a file, and there
// are more than eighty. What is required inside of a function only, and what that needs beside it, is not compiled before it is used: an
// engine looks over it. It is in the same file nevertheless, because hosts do not load files any more where a program has changed
// `Object.prototype`. For the same reason the host's own modules are all loaded at first.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './process.mjs';

const ENTRY = 'host/index.js';
/** Requires in the sources: those of a module as a whole begin their line with a declaration. */
const REQUIRE = /(?<![.\w])require\('((?:\.{1,2}\/|node:)[^']+)'\)/g;
/** Backquotes that begin no text. */
const QUOTED = /'`+'/g;
/** A list of names may take several lines. */
const EARLY = /^(?:const .*|\} )= $/;

/** The sources from `entry` on, with the modules that each requires early and late, and the modules of the host that are required early. */
function read(entry) {
  const modules = new Map();
  const builtins = new Set();
  const visit = (path) => {
    if (modules.has(path)) return;
    const [early, late] = [new Set(), new Set()];
    modules.set(path, { early, late, text: '' });
    const text = readFileSync(join(root, 'surface', path), 'utf8').replaceAll(REQUIRE, (call, name, offset, whole) => {
      const isEarly = EARLY.test(whole.slice(whole.lastIndexOf('\n', offset) + 1, offset));
      if (name.startsWith('node:')) {
        if (!isEarly) return call;
        builtins.add(name);
        return `builtins['${name}']`;
      }
      const found = posix.join(posix.dirname(path), name);
      (isEarly ? early : late).add(found);
      return `load('${found}')`;
    });
    modules.get(path).text = withoutComments(text);
    for (const found of [...early, ...late]) visit(found);
  };
  visit(entry);
  return { modules, builtins };
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

/** The text of `host/index.js`. */
export function surfaceText() {
  const { modules, builtins } = read(ENTRY);
  const first = closure(modules, ENTRY);
  const factories = [...modules].map(([path, { text }]) => {
    const factory = `function (module, exports, load) {\n${text}\n}`;
    // In parentheses engines compile a function at once, and do not look over it before.
    return `'${path}': ${first.has(path) ? `(${factory})` : factory},\n`;
  });
  return `// @ts-nocheck -- made of surface/ by scripts/surface.mjs
'use strict';
const builtins = {
__proto__: null,
${[...builtins].toSorted().map((name) => `'${name}': require('${name}'),\n`).join('')}};
const loaded = { __proto__: null };
const load = (path) => {
  const found = loaded[path];
  if (found !== undefined) return found.exports;
  const module = loaded[path] = { exports: {} };
  let complete = false;
  try {
    factories[path](module, module.exports, load);
    complete = true;
  } finally {
    // The stack may have been full.
    if (!complete) loaded[path] = undefined;
  }
  return module.exports;
};
const factories = {
__proto__: null,
${factories.join('')}};
module.exports = load('${ENTRY}');
`;
}

const textOf = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // not there yet
  }
};

/** Brings `host/` up to date. */
export function writeSurface() {
  const file = join(root, 'host/index.js');
  const text = surfaceText();
  if (textOf(file) === text) return;
  mkdirSync(join(root, 'host'), { recursive: true });
  // Renamed into place: another process may be about to load it.
  const next = `${file}.${process.pid}`;
  writeFileSync(next, text);
  renameSync(next, file);
}
