// The runtimes that the suite runs on. They are packages for x64 Linux, installed separately from the development dependencies so that
// those can be installed anywhere.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';

export const hostsFolder = join(root, '__test__/hosts');

const binary = (...path) => join(hostsFolder, 'node_modules', ...path);

// How each runtime runs a file of tests, with readable results on its output and JUnit results in `report`; and how it runs a file as a
// program, with engine flags in Node's form.
const node = (name) => ({
  name,
  executable: binary(name, 'bin/node'),
  args: (file, report) => [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=junit',
    `--test-reporter-destination=${report}`,
    file,
  ],
  program: (flags, file) => [...flags, file],
});

const bun = {
  name: 'bun',
  executable: binary('bun/bin/bun'),
  args: (file, report, limit) => [
    'test',
    '--no-install',
    `--timeout=${limit}`,
    '--reporter=junit',
    `--reporter-outfile=${report}`,
    `./${file}`,
  ],
  program: (flags, file) => [...flags, `./${file}`],
};

const deno = {
  name: 'deno',
  executable: binary('deno/deno'),
  args: (file, report) => [
    'test',
    '--allow-all',
    '--no-check',
    '--no-lock',
    '--node-modules-dir=manual',
    `--preload=${join(root, 'scripts/setup/uncaught.mjs')}`,
    `--junit-path=${report}`,
    file,
  ],
  program: (flags, file) => [
    'run',
    '--quiet',
    '--allow-all',
    '--no-check',
    '--no-lock',
    '--node-modules-dir=manual',
    ...(flags.length > 0 ? [`--v8-flags=${flags.join(',')}`] : []),
    file,
  ],
  // `deno test` ignores uncaught errors, and a test that ends the process.
  trouble: /^uncaught outside any test: |^The following tests were pending:/m,
};

export const hosts = [node('node20'), node('node22'), node('node24'), node('node25'), node('node26'), bun, deno];

/** The Node that runs this script, for tests that concern the repository rather than hosts. */
export const OWN = 'own';
const ownNode = { ...node(OWN), executable: process.execPath };

export const missingHosts = () => hosts.filter((host) => !existsSync(host.executable)).map((host) => host.name);

/** @param {string} name of a host, or `own` */
export const hostOf = (name) => (name === OWN ? ownNode : hosts.find((host) => host.name === name));

/**
 * The hosts in a list such as `node24,bun`, or all of them.
 * @param {string} [list]
 */
export function selectHosts(list) {
  const wanted = list?.split(',');
  const unknown = wanted?.find((name) => !hosts.some((host) => host.name === name));
  if (unknown !== undefined) throw new Error(`no such host: '${unknown}' (there are: ${hosts.map(({ name }) => name).join(', ')})`);
  const chosen = hosts.filter(({ name }) => !wanted || wanted.includes(name));
  const missing = missingHosts().filter((name) => chosen.some((host) => host.name === name));
  if (missing.length > 0) throw new Error(`these test hosts are not installed: ${missing.join(', ')}`);
  return chosen;
}
