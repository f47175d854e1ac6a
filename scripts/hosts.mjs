// The runtimes that the suite runs on. They are packages for x64 Linux, installed apart from the development
// dependencies so that those install anywhere.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './process.mjs';

export const hostsFolder = join(root, '__test__/hosts');

const binary = (...path) => join(hostsFolder, 'node_modules', ...path);

// How each runtime runs one file of tests, with results for people on its output and for us in `report`.
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
    `--preload=${join(root, 'scripts/uncaught.mjs')}`,
    `--junit-path=${report}`,
    file,
  ],
  // `deno test` passes over errors that nobody catches, and over a test that ends the process.
  trouble: /^uncaught outside any test: |^The following tests were pending:/m,
};

export const hosts = [node('node20'), node('node22'), node('node24'), node('node25'), node('node26'), bun, deno];

export const missingHosts = () => hosts.filter((host) => !existsSync(host.executable)).map((host) => host.name);
