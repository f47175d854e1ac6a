// The compared libraries: this package, isolated-vm, and QuickJS. The others are not dependencies, because most hosts cannot install isolated-vm
// and only the benchmark needs them. They are installed into a folder that git ignores. isolated-vm's package has prebuilt binaries, so no
// install script needs to run.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root, show } from '../scripts/process.mjs';
import { asIsolatedVm } from './quickjs.mjs';

export const OURS = 'isolated-v8';
export const PEER = 'isolated-vm';
export const QUICKJS = 'quickjs-emscripten';
/** The versions compared. */
export const VERSIONS = { [PEER]: '7.0.1', [QUICKJS]: '0.32.0' };

const windows = process.platform === 'win32';
export const folderIn = (name) => join(root, 'bench/.cache', name);
const folderOf = (name) => folderIn(`${name}-${VERSIONS[name]}`);

/** Whether a folder has packages, a record of versions by name. */
function has(folder, versions) {
  return Object.entries(versions).every(([name, version]) => {
    const file = join(folder, 'node_modules', name, 'package.json');
    return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === version;
  });
}

/** Installs packages into a folder, unless it has them. */
export async function fetchInto(folder, versions) {
  if (has(folder, versions)) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const packages = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  console.log(`fetching ${packages.join(', ')} …`);
  const args = ['install', '--ignore-scripts', '--no-save', '--no-fund', '--no-audit', '--loglevel=error'];
  const code = await show(windows ? 'npm.cmd' : 'npm', [...args, ...packages], { cwd: folder, shell: windows });
  if (code !== 0) throw new Error(`${packages.join(', ')} could not be fetched (npm's exit code ${code})`);
}

export const fetchLibrary = (name) => fetchInto(folderOf(name), { [name]: VERSIONS[name] });

const requireFrom = (folder) => createRequire(join(folder, 'package.json'));

export const loadQuickJs = () => requireFrom(folderOf(QUICKJS))(QUICKJS).getQuickJS();

/** The file with which a library begins. */
export const entryOf = (name) => (name === OURS ? requireFrom(root).resolve('./index.js') : requireFrom(folderOf(name)).resolve(name));

/** A library with isolated-vm's API, or a part of it. */
export async function load(name) {
  if (name === QUICKJS) return asIsolatedVm(await loadQuickJs());
  return name === OURS ? requireFrom(root)('./index.js') : requireFrom(folderOf(name))(name);
}

/** The libraries that this package is compared with on a host. isolated-vm 7.0.1 has binaries for few of them. */
export const peerOf = (host) => (['node24', 'node26'].includes(host) ? PEER : QUICKJS);

/** isolated-vm requires the first. The second allows garbage collection between samples. */
export const flagsOf = (host) => [...(host.startsWith('node') ? ['--no-node-snapshot'] : []), '--expose-gc'];

export const versionOf = (name) => (name === OURS ? requireFrom(root)('./package.json').version : VERSIONS[name]);
