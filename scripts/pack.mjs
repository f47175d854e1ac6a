// The package as npm publishes it: tarballs in a folder. Symbolic links to a checkout would hide what a tarball lacks.

import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capture, root } from './process.mjs';
import { addonFile, launcherFile } from './setup.mjs';

const NPM_LIMIT_MS = 180_000;
const isWindows = process.platform === 'win32';

/** Runs npm in a folder; resolves with what it writes. */
export async function npm(folder, ...args) {
  const { code, output, late } = await capture(isWindows ? 'npm.cmd' : 'npm', [...args, '--loglevel=error', '--no-fund', '--no-audit'], {
    cwd: folder,
    limit: NPM_LIMIT_MS,
    shell: isWindows,
  });
  if (code !== 0) throw new Error(`npm ${args[0]} ${late ? 'did not end' : `failed (exit code ${code})`}:\n${output}`);
  return output;
}

export const readPackage = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** Packs a package into `destination`; resolves with its name and its tarball's. */
async function pack(folder, destination) {
  await npm(folder, 'pack', '--ignore-scripts', `--pack-destination=${destination}`);
  const { name, version } = readPackage(folder);
  return { name, version, file: `${name}-${version}.tgz` };
}

export const packMain = (destination) => pack(root, destination);

/** The package with the binary of this machine, which the main package names as an optional dependency once published. */
export async function packPlatform(destination) {
  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-platform-'));
  try {
    cpSync(join(root, 'npm', addonFile.split('.')[1]), folder, { recursive: true });
    for (const file of [addonFile, launcherFile].filter((name) => name !== undefined)) copyFileSync(join(root, file), join(folder, file));
    return await pack(folder, destination);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
