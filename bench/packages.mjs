// What npm downloads and unpacks for each library on this platform, with all packages that it depends on, in bytes.

import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, packMain, packPlatform } from '../scripts/release/pack.mjs';
import { OURS, VERSIONS } from './libraries.mjs';

const LOCK = '.package-lock.json';

function bytesBelow(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => lstatSync(join(folder, String(name))))
    .reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}

async function downloadOf(project, { resolved, name, version }) {
  if (resolved?.startsWith('file:')) return statSync(join(project, resolved.slice('file:'.length))).size;
  const [{ size }] = JSON.parse(await npm(project, 'pack', '--dry-run', '--json', `${name}@${version}`));
  return size;
}

/** Installs packages into an empty project. */
async function sizesOf(folder, name, specs) {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  await npm(project, 'install', '--ignore-scripts', ...specs);
  const modules = join(project, 'node_modules');
  const { packages } = JSON.parse(readFileSync(join(modules, LOCK), 'utf8'));
  let download = 0;
  for (const [path, entry] of Object.entries(packages)) {
    download += await downloadOf(project, { ...entry, name: path.split('node_modules/').at(-1) });
  }
  return { download, installed: bytesBelow(modules) - statSync(join(modules, LOCK)).size, packages: Object.keys(packages).length };
}

/** Resolves with the sizes of this package, as it would be published, and of the libraries that it is compared with. */
export async function measurePackages() {
  const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-packages-'));
  try {
    const own = [await packMain(folder), await packPlatform(folder)].map(({ file }) => join(folder, file));
    const results = { [OURS]: await sizesOf(folder, OURS, own) };
    for (const [name, version] of Object.entries(VERSIONS)) results[name] = await sizesOf(folder, name, [`${name}@${version}`]);
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
