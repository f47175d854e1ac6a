// Publishes the packages as a release does, to a local registry, installs them into empty projects outside the repository, and runs a
// program there on every host that `--host` names, or on five. Each package manager installs in all three ways that users have: by the
// package's own name, as an alias of isolated-vm, and through overrides, below a package that depends on isolated-vm.

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { selectHosts } from '../setup/hosts.mjs';
import { npm, ownTriple, readPackage } from '../release/pack.mjs';
import { capture, environmentOfUser, root } from '../process.mjs';
import { serve } from './registry.mjs';
import { publishAll } from '../release/release.mjs';
import { setup } from '../setup.mjs';

const HOSTS = 'node20,node25,node26,bun,deno';
const LIMIT_MS = 180_000;
const ORIGINAL = 'isolated-vm';
/** Depends on isolated-vm as its users' libraries do. */
const LIBRARY = 'a-library';
const OURS = 'isolated-v8';

/** Not a dependency of the project: it is large, and nothing else needs it. */
const PNPM = '12.21.0';

/** How a manager installs from this registry, and where it reads overrides. */
const managersIn = (folder) => ({
  npm: { install: (url) => ['npm', 'install', `--registry=${url}`, '--no-fund', '--no-audit', '--cache=cache'], overrides: (map) => ({ overrides: map }) },
  pnpm: {
    install: (url) => [process.execPath, join(folder, 'node_modules/pnpm/bin/pnpm.mjs'), 'install', `--registry=${url}`, '--store-dir=store', '--config.cache-dir=cache', '--config.minimum-release-age=0'],
    overrides: (map) => ({ overrides: map }),
    file: 'pnpm-workspace.yaml',
  },
  bun: { install: (url) => [selectHosts('bun')[0].executable, 'install', `--registry=${url}`, '--cache-dir=cache'], overrides: (map) => ({ overrides: map }) },
});

/** What a user writes into `package.json`, and which name the program imports. */
const ways = (version) => ({
  'its own name': { dependencies: { [OURS]: version }, imports: OURS },
  'an alias': { dependencies: { [ORIGINAL]: `npm:${OURS}@${version}` }, imports: ORIGINAL },
  overrides: { dependencies: { [LIBRARY]: '1.0.0' }, overrides: { [ORIGINAL]: `npm:${OURS}@${version}` }, imports: LIBRARY },
});

/** Publishes a library whose users get isolated-vm through it. */
async function publishLibrary(folder, args) {
  const source = join(folder, LIBRARY);
  mkdirSync(source);
  const manifest = { name: LIBRARY, version: '1.0.0', main: 'index.js', dependencies: { [ORIGINAL]: '^7.0.0' } };
  writeFileSync(join(source, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(source, 'index.js'), `module.exports = require('${ORIGINAL}');\n`);
  await npm(source, 'publish', ...args);
}

/** Publishes the packages as a release does, for this machine's platform. Does it twice, to check that nothing is published twice. */
async function publishOwn(registry) {
  const names = [`${OURS}-${ownTriple}`, OURS];
  for (let times = 0; times < 2; times += 1) await publishAll([ownTriple], root, registry.args);
  if (registry.published().join() !== names.join()) throw new Error(`published: ${registry.published().join(', ')}`);
}

async function install(folder, name, manager, way, url) {
  const { install: command, overrides, file } = manager;
  mkdirSync(folder, { recursive: true });
  const settings = way.overrides === undefined ? {} : overrides(way.overrides);
  const project = { name: 'a-user', private: true, dependencies: way.dependencies, ...(file === undefined && settings) };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project));
  // JSON is also valid YAML.
  if (file !== undefined) writeFileSync(join(folder, file), JSON.stringify(settings));
  const [executable, ...args] = command(url);
  const { code, output, late } = await capture(executable, args, { cwd: folder, limit: LIMIT_MS, env: environmentOfUser() });
  if (code !== 0) throw new Error(`${name} ${late ? 'did not end' : `failed (exit code ${code})`}:\n${output}`);
  const installed = join(folder, 'node_modules', way.imports);
  if (!existsSync(installed)) throw new Error(`${name} has not installed ${way.imports}:\n${output}`);
  if (realpathSync(installed).startsWith(root)) throw new Error(`${installed} leads into the repository`);
  copyFileSync(join(root, '__test__/installation/main.mjs'), join(folder, 'main.mjs'));
}

async function runOn(host, folder, name) {
  const { code, signal, output, late } = await capture(host.executable, [...host.program([], 'main.mjs'), name], { limit: LIMIT_MS, cwd: folder, env: environmentOfUser() });
  if (code === 0 && output.trimEnd().endsWith('installed and running')) return true;
  console.log(`     x ${host.name} ${late ? 'did not end' : `ended with ${signal ?? `exit code ${code}`}`}\n${output.trimEnd().replace(/^/gm, '       ')}`);
  return false;
}

/** Runs the package's command, where `npx isolated-v8 doctor` finds it. */
async function runDoctor(folder) {
  const { code, output } = await capture(join(folder, 'node_modules/.bin', OURS), ['doctor'], { limit: LIMIT_MS, cwd: folder, env: environmentOfUser() });
  if (code === 0) return true;
  console.log(`     x doctor ended with exit code ${code}\n${output.trimEnd().replace(/^/gm, '       ')}`);
  return false;
}

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-installation-'));
let registry;
try {
  const { values } = parseArgs({ options: { host: { type: 'string', default: HOSTS } } });
  await setup('addon', 'hosts');
  const hosts = selectHosts(values.host);
  registry = await serve([OURS, `${OURS}-${ownTriple}`, LIBRARY], (await npm(folder, 'config', 'get', 'registry')).trim());
  await publishOwn(registry);
  await publishLibrary(folder, registry.args);
  const tools = join(folder, 'tools');
  mkdirSync(tools);
  await npm(tools, 'install', `pnpm@${PNPM}`, '--ignore-scripts');
  for (const [name, manager] of Object.entries(managersIn(tools))) {
    for (const [title, way] of Object.entries(ways(readPackage(root).version))) {
      const project = join(folder, name, way.imports);
      await install(project, name, manager, way, registry.url);
      let works = 0;
      for (const host of hosts) if (await runOn(host, project, way.imports)) works += 1;
      const ok = works === hosts.length && (way.imports === LIBRARY || (await runDoctor(project)));
      console.log(`${(ok ? 'ok' : 'FAIL').padEnd(4)} ${name.padEnd(4)} by ${title}, on ${works} of ${hosts.length} hosts`);
      if (!ok) process.exitCode = 1;
    }
  }
} catch (error) {
  console.error(`${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  process.exitCode = 1;
} finally {
  await registry?.close();
  rmSync(folder, { recursive: true, force: true });
}
