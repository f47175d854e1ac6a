// Writes `host/`: the hosts' part of `surface/` in few files, because a host takes half a millisecond to find, read and wrap a file, and there
// are more than eighty. `index.js` is loaded with the package, each other one when what begins in it is used for the first time.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dirname, normalize } from 'node:path/posix';
import { root } from '../process.mjs';

const folder = join(root, 'host');
const MINIFIED = Object.freeze({ minifyWhitespace: true, target: 'node20' });
const LINE_LIMIT = 160;
const IMPORT = /\brequire\(\s*(["'])(\.[^"']+)\1\s*\)/g;

/**
 * The files: what begins in each, and the others that it needs. A module is in the file that begins with it, otherwise in the last one that all
 * files need that need the module.
 */
const SANDBOX = 'surface/host/sandbox';
const inSandbox = (...names) => names.map((name) => `${SANDBOX}/${name}.js`);
const CHUNKS = {
  'index.js': { entries: ['surface/host/index.js'], after: [] },
  'incoming.js': { entries: ['surface/host/incoming.js'], after: ['index.js'] },
  'sandbox.js': { entries: inSandbox('index'), after: ['incoming.js'] },
  // What a first result that is a primitive does not need: functions, objects, signals, and errors of the host.
  'outgoing.js': {
    entries: [
      'surface/host/outgoing.js', 'surface/host/work.js', ...['host-calls', 'signals'].map((name) => `surface/host/calls/${name}.js`), ...inSandbox('common/globals', 'common/refusals', 'common/size'),
    ],
    after: ['incoming.js'],
  },
  // ES modules, sessions with the inspector, profiles and snapshots.
  'modules.js': { entries: ['module', 'session', 'profile', 'snapshot'].map((name) => `surface/api/${name}.js`), after: ['index.js'] },
  'values.js': { entries: ['surface/host/wire/index.js', 'surface/host/requests/message.js'], after: ['outgoing.js'] },
  // What `common/features.js` loads, other functions of the package, and its settings.
  'features.js': {
    entries: [...inSandbox('common/inspection', 'common/modules', 'common/typescript', 'code/parser', 'context/globals'), 'surface/host/engine.js'],
    after: ['sandbox.js'],
  },
  'agent.js': { entries: inSandbox('agent/sandbox', 'tools/descriptions'), after: ['sandbox.js', 'outgoing.js'] },
  'subprocess.js': { entries: inSandbox('subprocess/sandbox'), after: ['agent.js'] },
  'unavailable.js': { entries: ['surface/host/unavailable.js'], after: ['index.js'] },
  'plugin.js': { entries: inSandbox('plugin/sandbox', 'plugin/isolate/runtime', 'plugin/network/fetch'), after: ['sandbox.js', 'outgoing.js'] },
};
const chunks = Object.keys(CHUNKS);
/** Files of which adapters use modules. `index.js` exports functions that load them, and return the function that loads a module. */
const OF_ADAPTERS = ['outgoing.js', 'agent.js'];

export const surfaceFiles = chunks.map((name) => join(folder, name));

/** The chunks that are loaded when `chunk` is, the last one first. */
const withThoseBefore = (chunk) => chunks.slice(0, chunks.indexOf(chunk) + 1).toReversed().filter((each) => needs(chunk, each));
const needs = (chunk, other) => chunk === other || CHUNKS[chunk].after.some((each) => needs(each, other));

const chunkOfEntry = new Map(chunks.flatMap((chunk) => CHUNKS[chunk].entries.map((entry) => [entry, chunk])));

/** The module that `from` imports by this path; both from the root. */
const resolved = (from, path) => normalize(join(dirname(from), path));

/** Without comments. */
const codeOf = async (transform, module) => {
  const { code } = await transform(readFileSync(join(root, module), 'utf8'), MINIFIED);
  return code.trimEnd();
};

/** The modules that `entry` needs, with their code, without those that begin other files. */
async function reach(entry, transform, codes, reached = new Set()) {
  if (reached.has(entry)) return reached;
  reached.add(entry);
  if (!codes.has(entry)) codes.set(entry, await codeOf(transform, entry));
  for (const [, , path] of codes.get(entry).matchAll(IMPORT)) {
    const imported = resolved(entry, path);
    if (!chunkOfEntry.has(imported)) await reach(imported, transform, codes, reached);
  }
  return reached;
}

/** The code of each module, and its chunk. */
async function distribute(transform) {
  const codes = new Map();
  const needed = new Map();
  for (const [entry, chunk] of chunkOfEntry) {
    for (const module of await reach(entry, transform, codes)) needed.set(module, [...(needed.get(module) ?? []), chunk]);
  }
  const place = ([module, by]) => [module, withThoseBefore(by[0]).find((chunk) => by.every((each) => withThoseBefore(each).includes(chunk)))];
  return { codes, places: new Map(Array.from(needed, place)) };
}

/**
 * Loads modules by their paths, each one once, and files. `index.js` has it. Each other file exports a function that adds its modules to it: if a
 * program clears `require.cache`, the package's next instance has its own modules, whichever instance has loaded the file. A time limit of
 * `node:vm` ends JavaScript without `catch` and `finally`, so what counts as done is recorded afterwards, and done again if it is not. A file
 * that was ended has no function yet. No modules import each other.
 */
const LOADER = `const factories={__proto__:null},loaded={__proto__:null},added={__proto__:null};const __add=(more)=>{Object.assign(factories,more)};
const __load=(path)=>{const found=loaded[path];if(found!==undefined)return found;const module={exports:{}};
factories[path](module,module.exports);return loaded[path]=module.exports};
const __file=(name,get,path,cache)=>{if(added[name])return __load;let file=get();
if(typeof file!=="function"&&cache){delete cache[path()];file=get()}file(__add,__load,__file);added[name]=true;return __load};`;
/** In a module: `__load`, after the file `name` has added its modules. */
const fileOf = (name) => `__file("${name}",()=>require("./${name}"),()=>require.resolve("./${name}"),require.cache)`;

export async function writeSurface() {
  // Loaded here, because a checkout that is being prepared has no packages yet.
  const { transform } = await import('esbuild').catch((cause) => {
    throw new Error('esbuild is not installed: npm ci', { cause });
  });
  const { codes, places } = await distribute(transform);

  /** In parentheses: V8 then compiles the function together with the file, instead of reading it twice. */
  const factory = (module) => {
    const linked = codes.get(module).replaceAll(IMPORT, (_, quote, path) => {
      const imported = resolved(module, path);
      const chunk = places.get(imported);
      const load = withThoseBefore(places.get(module)).includes(chunk) ? '__load' : fileOf(chunk);
      return `${load}("${imported}")`;
    });
    return `"${module}":(function(module,exports){${linked}\n})`;
  };

  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (!chunks.includes(name)) rmSync(join(folder, name));
  for (const chunk of chunks) {
    const { entries: [entry], after } = CHUNKS[chunk];
    const modules = Array.from(places).filter(([, place]) => place === chunk).map(([module]) => module);
    const factories = `__add({\n${modules.map(factory).join(',\n')}\n});`;
    // A file that is loaded later is one function, in parentheses for the same reason. `index.js` is always loaded before.
    const parts = after.length === 0
      ? [LOADER, factories, `module.exports={...__load("${entry}"),files:{${OF_ADAPTERS.map((name) => `"${name}":()=>${fileOf(name)}`).join(',')}}};`]
      : ['module.exports=(function(__add,__load,__file){', ...after.filter((each) => CHUNKS[each].after.length > 0).map((each) => `${fileOf(each)};`), factories, '});'];
    // Renamed into place: another process may be about to load it.
    const next = join(folder, `${chunk}.${process.pid}`);
    writeFileSync(next, (await transform(`'use strict';\n${parts.join('\n')}`, { ...MINIFIED, lineLimit: LINE_LIMIT })).code);
    renameSync(next, join(folder, chunk));
  }
}
