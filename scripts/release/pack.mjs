// Makes the packages as npm publishes them, as folders and as tarballs. Symbolic links to a checkout would hide files that a tarball lacks.

import { chmodSync, copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NOTICES } from './notices.mjs';
import { capture, root } from '../process.mjs';
import { addonFile } from '../setup.mjs';
import { writeSurface } from '../setup/surface.mjs';

const NPM_LIMIT_MS = 180_000;
const isWindows = process.platform === 'win32';

/** This machine's triple, as in the names of packages. */
export const ownTriple = addonFile.split('.')[1];

/** Runs npm in a folder; resolves with its output. */
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

/** Packs a package into `destination`; resolves with its name, its version and the name of its tarball. */
async function pack(folder, destination) {
  await npm(folder, 'pack', '--ignore-scripts', `--pack-destination=${destination}`);
  const { name, version } = readPackage(folder);
  return { name, version, file: `${name}-${version}.tgz` };
}

export async function packMain(destination) {
  await writeSurface();
  return pack(root, destination);
}

/** The built files of a platform's package. */
export const binariesOf = (triple) => readPackage(join(root, 'npm', triple)).files.filter((name) => name !== NOTICES);

/** Makes `folder` the package of a platform, with the binaries from the folder `binaries` and the licence files. */
export function stagePlatform(folder, triple, binaries) {
  cpSync(join(root, 'npm', triple), folder, { recursive: true });
  for (const file of ['LICENSE', NOTICES]) copyFileSync(join(root, file), join(folder, file));
  for (const file of binariesOf(triple)) {
    const from = join(binaries, file);
    if (!existsSync(from)) throw new Error(`${from} is missing`);
    copyFileSync(from, join(folder, file));
    chmodSync(join(folder, file), 0o755);
  }
}

/** Packs the package with this machine's binary. Once published, the main package names it as an optional dependency. */
export async function packPlatform(destination) {
  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-platform-'));
  try {
    stagePlatform(folder, ownTriple, root);
    return await pack(folder, destination);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
