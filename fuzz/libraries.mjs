// Jazzer.js needs a newer C library than some systems have. On an older Debian, the libraries of the next release are unpacked into a folder
// for the fuzzer alone, and Node starts with them.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const NEEDED = [2, 38];
const RELEASE = 'trixie';
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6'];
const KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg';

function isNewEnough() {
  const [major, minor] = (process.report.getReport().header.glibcVersionRuntime ?? '99.0').split('.').map(Number);
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
}

/**
 * The command that starts Node: its path, after a loader if one is needed.
 * @param {string} folder for downloads
 * @returns {string[]}
 */
export function nodeCommand(folder) {
  if (isNewEnough()) return [process.execPath];
  const libraries = join(folder, 'root/usr/lib/x86_64-linux-gnu');
  const loader = join(libraries, 'ld-linux-x86-64.so.2');
  if (!existsSync(loader)) fetchLibraries(folder);
  return [loader, '--library-path', libraries, process.execPath];
}

/** Downloads packages of the newer release from the machine's own package source. */
function fetchLibraries(folder) {
  const run = (command, args) => execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'root']) mkdirSync(join(folder, name), { recursive: true });
  const [site] = run('apt-get', ['indextargets', '--format', '$(SITE)', 'Created-By: Packages']).split('\n');
  writeFileSync(join(folder, 'sources.list'), `deb [signed-by=${KEYS}] ${site} ${RELEASE} main\n`);
  const places = { 'Dir::Etc::sourcelist': join(folder, 'sources.list'), 'Dir::Etc::sourceparts': '-', 'Dir::State': join(folder, 'state'), 'Dir::Cache': join(folder, 'cache') };
  const options = Object.entries(places).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  run('apt-get', [...options, '-qq', 'update']);
  run('apt-get', [...options, '-qq', 'download', ...PACKAGES]);
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.deb'))) run('dpkg-deb', ['-x', name, 'root']);
}
