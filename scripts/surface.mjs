// Writes `host/index.js`: the hosts' part of `surface/` in one file. A host takes half a millisecond to find, read and wrap a file, and
// there are more than eighty.

import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './process.mjs';

export const surfaceFile = join(root, 'host/index.js');

export async function writeSurface() {
  // Loaded here, because a checkout that is being prepared has no packages yet.
  const { build } = await import('esbuild').catch((cause) => {
    throw new Error('esbuild is not installed: npm ci', { cause });
  });
  const { outputFiles: [file] } = await build({
    entryPoints: [join(root, 'surface/host/index.js')],
    absWorkingDir: root,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    minifyWhitespace: true,
    lineLimit: 160,
    logLevel: 'warning',
    write: false,
  });
  if (!existsSync(join(root, 'host'))) mkdirSync(join(root, 'host'));
  // Renamed into place: another process may be about to load it.
  const next = `${surfaceFile}.${process.pid}`;
  writeFileSync(next, file.contents);
  renameSync(next, surfaceFile);
}
