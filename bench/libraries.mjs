// What is compared: this package, and isolated-vm, which is in no dependency list because most hosts cannot install it. It is
// fetched into a folder that git ignores; its package has prebuilt binaries, so that no install script need run.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root, show } from '../scripts/process.mjs';

export const OURS = 'isolated-v8';
export const PEER = 'isolated-vm';
export const PEER_VERSION = '7.0.1';

const folder = join(root, 'bench/.cache', `${PEER}-${PEER_VERSION}`);
const windows = process.platform === 'win32';

export async function fetchPeer() {
  if (existsSync(join(folder, 'node_modules', PEER, 'package.json'))) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  console.log(`fetching ${PEER}@${PEER_VERSION} …`);
  const args = ['install', '--ignore-scripts', '--no-save', '--no-fund', '--no-audit', '--loglevel=error'];
  const command = windows ? 'npm.cmd' : 'npm';
  const code = await show(command, [...args, `${PEER}@${PEER_VERSION}`], { cwd: folder, shell: windows });
  if (code !== 0) throw new Error(`${PEER} could not be fetched (npm's exit code ${code})`);
}

/** Both libraries, ours first. */
export function load() {
  const fromRoot = createRequire(join(root, 'package.json'));
  const fromCache = createRequire(join(folder, 'package.json'));
  return new Map([
    [OURS, fromRoot('./index.js')],
    [PEER, fromCache(PEER)],
  ]);
}

export const version = () => createRequire(import.meta.url)('../package.json').version;
