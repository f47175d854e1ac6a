// Installs @utcp/code-mode, a public package that needs isolated-vm, unchanged, with an npm `overrides` entry that replaces isolated-vm
// with this package. Then runs its tool chains (__test__/application/main.mjs) on every host, or on those that `--host node24,bun` names.
// With `--original` it gets isolated-vm itself, on hosts that can load it: the program's expectations come from there.

import { copyFileSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { selectHosts } from '../setup/hosts.mjs';
import { npm, packMain, packPlatform, readPackage } from '../release/pack.mjs';
import { capture, root } from '../process.mjs';
import { setup } from '../setup.mjs';

const APPLICATION = '@utcp/code-mode';
const PACKAGES = { [APPLICATION]: '1.2.12', '@utcp/sdk': '1.1.2', '@utcp/direct-call': '1.0.12' };
const NEEDS = 'isolated-vm';
const ORIGINAL_VERSION = '7.0.1';
const LIMIT_MS = 120_000;

/** Makes a project that depends on the application; resolves with the name of the package that replaces isolated-vm. */
async function install(folder, original) {
  const dependencies = { ...PACKAGES };
  let replacement = { name: NEEDS, spec: ORIGINAL_VERSION };
  if (!original) {
    const [main, platform] = [await packMain(folder), await packPlatform(folder)];
    dependencies[platform.name] = `file:${platform.file}`;
    replacement = { name: main.name, spec: `file:${main.file}` };
  }
  const project = { private: true, type: 'module', dependencies, overrides: { [NEEDS]: replacement.spec } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project));
  await npm(folder, 'install', '--ignore-scripts', '--prefer-offline');
  copyFileSync(join(root, '__test__/application/main.mjs'), join(folder, 'main.mjs'));

  const installed = join(folder, 'node_modules', NEEDS);
  const { dependencies: own, peerDependencies: peers } = readPackage(join(folder, 'node_modules', APPLICATION));
  if (!(NEEDS in { ...own, ...peers })) throw new Error(`${APPLICATION} does not ask for ${NEEDS}`);
  if (lstatSync(installed).isSymbolicLink()) throw new Error(`${installed} is a link, not a package`);
  const { name } = readPackage(installed);
  if (name !== replacement.name) throw new Error(`${NEEDS} is ${name}, not ${replacement.name}`);
  return name;
}

async function runOn(host, folder, name) {
  const { NODE_OPTIONS, NODE_PATH, CI, FORCE_COLOR, ...inherited } = process.env;
  const { code, signal, output, late, ms } = await capture(host.executable, host.program([], 'main.mjs'), {
    limit: LIMIT_MS,
    cwd: folder,
    env: { ...inherited, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
  });
  // The program writes this last line if everything was as expected.
  const done = /^(\d+) tool chains with (\S+)$/.exec(output.trimEnd().split('\n').at(-1));
  const ok = code === 0 && done?.[2] === name && Number(done[1]) > 0;
  const ended = late ? `still running after ${LIMIT_MS / 1000} s` : `ended by ${signal ?? `exit code ${code}`}`;
  console.log(`${(ok ? 'ok' : 'FAIL').padEnd(4)} ${host.name.padEnd(6)} ${ok ? done[0] : ended}  ${(ms / 1000).toFixed(1)} s`);
  if (!ok) console.log(output.trimEnd().replace(/^/gm, '       '));
  return ok;
}

const folder = mkdtempSync(join(tmpdir(), 'isolated-v8-application-'));
try {
  const { values } = parseArgs({ options: { host: { type: 'string' }, original: { type: 'boolean' } } });
  await setup('addon', 'hosts');
  const hosts = selectHosts(values.host);
  const name = await install(folder, values.original);
  console.log(`${APPLICATION} ${PACKAGES[APPLICATION]}, with ${name} for ${NEEDS}`);
  const failed = [];
  for (const host of hosts) if (!(await runOn(host, folder, name))) failed.push(host.name);
  if (failed.length > 0) process.exitCode = 1;
} catch (error) {
  console.error(`${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
