// Bundles the programs with the versions of the packages that they name.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { fetchInto, folderIn } from './libraries.mjs';
import programs, { VERSIONS } from './programs.mjs';

const folder = folderIn('programs');
const FILE = /%([\w@./-]+)%/g;

export const fileOf = (id) => join(folder, `${id}.bundle.js`);

/** Installs the packages and writes a script for each program. */
export async function makeBundles(chosen = programs) {
  await fetchInto(folder, VERSIONS);
  for (const { id, entry } of chosen) {
    const text = (_, path) => JSON.stringify(readFileSync(join(folder, 'node_modules', path), 'utf8'));
    const result = await build({
      stdin: { contents: entry.replaceAll(FILE, text), resolveDir: folder, sourcefile: `${id}.js` },
      bundle: true,
      write: false,
      format: 'iife',
      target: 'es2022',
      // Guests have no modules of Node. These libraries need none for what the programs do.
      platform: 'browser',
      define: { 'process.env.NODE_ENV': '"production"', 'process.env': '{}' },
      external: ['fs', 'path', 'os', 'inspector', 'perf_hooks', 'source-map'],
      logLevel: 'error',
    });
    mkdirSync(folder, { recursive: true });
    writeFileSync(fileOf(id), result.outputFiles[0].text);
  }
}
