// Checks the structure of the sources: that imports follow the order of layers, in no circle of more than two files, and that no struct,
// function or file is too large. `node scripts/checks/layers.mjs [folder]` prints what does not hold.
//
// An import of a name that a module only passes on (`pub use`) counts as an import of the module that defines it, and a call of a method as an
// import of the file that defines the method. Code for tests does not count, and in JavaScript neither do types in comments, which load nothing.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { circles } from './layers/graph.mjs';
import { readJavaScript } from './layers/javascript.mjs';
import { readRust } from './layers/rust.mjs';

export const MAX = Object.freeze({ circle: 2, fields: 15, parameters: 8, lines: 500 });

/** Each layer uses only those before it. A layer is a folder without the folders and files that are layers of their own. */
const SURFACE = [
  'surface/core',
  'surface/api',
  'surface',
  'surface/builtins',
  'surface/web',
  // What the codec needs of the host.
  'surface/host/clock.js',
  'surface/host/work.js',
  'surface/host/protocol.js',
  'surface/host/wire',
  'surface/host/calls',
  'surface/host/values',
  'surface/host/requests',
  'surface/host',
  'surface/host/sandbox',
  // What the package consists of.
  'surface/host/engine.js',
  'surface/host/index.js',
];

/** What cannot be changed. */
const EXCEPTIONS = Object.freeze({
  // A neutral value is recursive: it may be a handle, a function, a promise or an error, each of which may hold values.
  circle: 'src/value/',
  // V8's own functions, with V8's parameters.
  functions: new Set(['src/engine/cpu_profiles.rs', 'src/engine/heap/pages.rs']),
});

/**
 * @param {string} root
 * @param {string} folder
 * @param {string} extension
 * @returns {string[]} paths below `root`, with `/`
 */
function list(root, folder, extension) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return list(root, path, extension);
    return entry.name.endsWith(extension) ? [path] : [];
  });
}

/** The layers of Rust, as the crate's documentation lists them. */
const rustLayers = (text) => [...text.matchAll(/^\/\/! - `(\w+)`:/gm)].map(([, name]) => `src/${name}`);

/**
 * @param {string[]} layers
 * @param {string} file
 * @returns {number} the index of the innermost layer that the file is in; what is in none, such as the crate's root, comes after all
 */
function layerOf(layers, file) {
  const isIn = (layer) => file === layer || file === `${layer}.rs` || file.startsWith(`${layer}/`);
  const found = layers.filter(isIn).toSorted((one, other) => other.length - one.length)[0];
  return found === undefined ? layers.length : layers.indexOf(found);
}

/**
 * Circles in which a folder imports, directly or indirectly, what imports it: a file beside it, or another folder.
 * @param {Map<string, Set<string>>} graph
 */
function* circlesOfFolders(graph) {
  const folders = new Set([...graph.keys()].flatMap((file) => file.split('/').slice(0, -1).map((_, index, names) => names.slice(0, index + 1).join('/'))));
  for (const folder of folders) {
    // What lies directly in this folder.
    const entryOf = (file) => (file.startsWith(`${folder}/`) ? file.split('/', folder.split('/').length + 1).join('/') : undefined);
    const inside = new Map();
    for (const [file, imports] of graph) {
      const entry = entryOf(file);
      if (entry === undefined) continue;
      const imported = [...imports].map(entryOf).filter((other) => other !== undefined && other !== entry);
      inside.set(entry, new Set([...inside.get(entry) ?? [], ...imported]));
    }
    for (const circle of circles(inside)) if (circle.some((entry) => folders.has(entry))) yield circle;
  }
}

/** Problems of one language: `graph` has the imports of each file. */
function* problemsOfImports(graph, layers) {
  for (const circle of circles(graph)) {
    if (circle.length > MAX.circle && !circle.every((file) => file.startsWith(EXCEPTIONS.circle))) yield `a circle of ${circle.length} files: ${circle.toSorted().join(' ')}`;
  }
  for (const circle of circlesOfFolders(graph)) yield `a circle with a folder: ${circle.toSorted().join(' ')}`;
  for (const [file, imports] of graph) {
    const layer = layerOf(layers, file);
    for (const imported of imports) {
      if (layerOf(layers, imported) > layer) yield `${file} imports ${imported}, which is of a later layer`;
    }
  }
}

/** @param {string} root with `src` and `surface` */
export function readSources(root) {
  const read = (path) => readFileSync(join(root, path), 'utf8');
  const rust = readRust(list(root, 'src', '.rs'), read);
  const script = readJavaScript(list(root, 'surface', '.js'), read);
  return { rust: { ...rust, layers: rustLayers(read('src/lib.rs')) }, script: { ...script, layers: SURFACE } };
}

/**
 * @param {ReturnType<typeof readSources>} sources
 * @returns {string[]} what does not hold
 */
export function check({ rust, script }) {
  const problems = [...problemsOfImports(rust.graph, rust.layers), ...problemsOfImports(script.graph, script.layers)];
  for (const { file, name, fields } of rust.structs) {
    if (fields > MAX.fields) problems.push(`${file}: struct ${name} has ${fields} fields`);
  }
  for (const { file, name, parameters } of [...rust.functions, ...script.functions]) {
    if (parameters > MAX.parameters && !EXCEPTIONS.functions.has(file)) problems.push(`${file}: ${name} has ${parameters} parameters`);
  }
  for (const [file, lines] of [...rust.lines, ...script.lines]) {
    if (lines > MAX.lines) problems.push(`${file} has ${lines} lines`);
  }
  return problems;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = check(readSources(process.argv[2] ?? fileURLToPath(new URL('../..', import.meta.url))));
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) process.exitCode = 1;
}
