// Writes `host/`: the hosts' part of `surface/` in two files, because a host takes half a millisecond to find, read and wrap a file, and there
// are more than eighty. `index.js` is loaded with the package, `sandbox.js` when one of the sandboxes is used for the first time.

import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { root } from '../process.mjs';

const folder = join(root, 'host');
const ENTRY = 'surface/host/index.js';
const SANDBOX_ENTRY = 'surface/host/sandbox/index.js';

export const surfaceFiles = ['index.js', 'sandbox.js'].map((name) => join(folder, name));

/** A plugin: `replace` maps the path of an imported module, from the root, to what esbuild's `onResolve` returns, or to undefined. */
const replacing = (replace) => ({
  name: 'replacing',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir, namespace }) => {
      if (namespace === 'shared') return { path, external: true };
      return replace(relative(root, resolve(resolveDir, path)).split(sep).join('/'));
    });
    onLoad({ filter: /./, namespace: 'shared' }, ({ path }) => ({ contents: `module.exports = require('./index.js').modules[${JSON.stringify(path)}];` }));
  },
});

export async function writeSurface() {
  // Loaded here, because a checkout that is being prepared has no packages yet.
  const { build } = await import('esbuild').catch((cause) => {
    throw new Error('esbuild is not installed: npm ci', { cause });
  });
  // The entry is code around modules: esbuild renames functions of a module that is the entry itself.
  const bundle = async (entry, replace) => {
    const { outputFiles: [{ contents }], metafile } = await build({
      stdin: { contents: entry, resolveDir: root },
      absWorkingDir: root,
      bundle: true,
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      minifyWhitespace: true,
      lineLimit: 160,
      logLevel: 'warning',
      metafile: true,
      write: false,
      plugins: [replacing(replace)],
    });
    return { contents, modules: Object.keys(metafile.inputs) };
  };
  const withoutSandbox = (path) => (path === SANDBOX_ENTRY ? { path: './sandbox.js', external: true } : undefined);
  const { modules } = await bundle(`require('./${ENTRY}')`, withoutSandbox);
  const shared = new Set();
  const sandbox = await bundle(`module.exports = require('./${SANDBOX_ENTRY}');`, (path) => {
    if (!modules.includes(path)) return undefined;
    shared.add(path);
    return { path, namespace: 'shared' };
  });
  const entry = `module.exports = { ...require('./${ENTRY}'), modules: {${[...shared].map((path) => `\n  '${path}': require('./${path}'),`).join('')}\n} };`;
  const index = await bundle(entry, withoutSandbox);
  if (!existsSync(folder)) mkdirSync(folder);
  // Renamed into place: another process may be about to load them.
  for (const [number, { contents }] of [index, sandbox].entries()) {
    const next = `${surfaceFiles[number]}.${process.pid}`;
    writeFileSync(next, contents);
    renameSync(next, surfaceFiles[number]);
  }
}
