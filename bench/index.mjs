// `npm run bench [-- --host node26] [--filter evalSync] [--quick]`: this package beside isolated-vm, in one process of a host
// that isolated-vm runs on. A full run writes BENCHMARKS.md and BENCHMARKS.json; `--filter` and `--quick` only print.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hosts } from '../scripts/hosts.mjs';
import { root, show } from '../scripts/process.mjs';
import { setup } from '../scripts/setup.mjs';
import { fetchPeer } from './libraries.mjs';
import { choose } from './scenarios.mjs';

/** isolated-vm 7.0.1 has binaries for these. */
const SUPPORTED = ['node24', 'node26'];

const options = {
  host: { type: 'string', default: 'node24' },
  filter: { type: 'string' },
  quick: { type: 'boolean', default: false },
};

async function bench() {
  const { values } = parseArgs({ options });
  if (!SUPPORTED.includes(values.host)) throw new Error(`--host is one of ${SUPPORTED.join(', ')}`);
  if (choose(values.filter).length === 0) throw new Error(`no scenario has '${values.filter}' in its name`);
  const { executable } = hosts.find(({ name }) => name === values.host);
  if (!existsSync(executable)) await setup('hosts');
  await fetchPeer();
  // isolated-vm asks for --no-node-snapshot; --expose-gc lets garbage be dropped between samples.
  const flags = ['--no-node-snapshot', '--expose-gc'];
  return show(executable, [...flags, join(root, 'bench/run.mjs'), JSON.stringify(values)]);
}

try {
  process.exitCode = await bench();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
