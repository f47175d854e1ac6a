// `npm run bench [-- --host node26] [--part calls] [--filter evalSync] [--quick]`: this package beside isolated-vm, on a host that
// isolated-vm runs on, and beside other ways on any host. All parts but rough ones write BENCHMARKS.md and BENCHMARKS.json.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hosts } from '../scripts/hosts.mjs';
import { root, show } from '../scripts/process.mjs';
import { setup } from '../scripts/setup.mjs';
import { fetchLibrary, PEER, QUICKJS } from './libraries.mjs';
import { footprint, others, scale, subprocess } from './parts.mjs';
import { choose } from './scenarios.mjs';

/** isolated-vm 7.0.1 has binaries for these. */
const BESIDE_PEER = ['node24', 'node26'];

/** isolated-vm asks for --no-node-snapshot; --expose-gc lets garbage be dropped between samples. */
async function calls(host, values) {
  const flags = ['--no-node-snapshot', '--expose-gc'];
  return (await show(host.executable, [...flags, join(root, 'bench/run.mjs'), JSON.stringify(values)])) === 0;
}

const parts = {
  calls: { needs: [PEER], run: calls },
  footprint: { needs: [PEER], run: footprint },
  scale: { needs: [PEER], run: scale },
  others: { needs: [QUICKJS], run: others },
  subprocess: { needs: [], run: subprocess },
};

const options = {
  host: { type: 'string', default: 'node24' },
  part: { type: 'string' },
  filter: { type: 'string' },
  quick: { type: 'boolean', default: false },
};

function chosenParts({ part, filter, quick }, host) {
  if (part !== undefined && !(part in parts)) throw new Error(`--part is one of ${Object.keys(parts).join(', ')}`);
  // These choose among calls.
  if (part === undefined && (filter !== undefined || quick)) return ['calls'];
  const possible = Object.keys(parts).filter((name) => !parts[name].needs.includes(PEER) || BESIDE_PEER.includes(host));
  if (part === undefined) return possible;
  if (!possible.includes(part)) throw new Error(`--part ${part} needs --host ${BESIDE_PEER.join(' or ')}`);
  return [part];
}

async function bench() {
  const { values } = parseArgs({ options });
  const host = hosts.find(({ name }) => name === values.host);
  if (host === undefined) throw new Error(`--host is one of ${hosts.map(({ name }) => name).join(', ')}`);
  const chosen = chosenParts(values, host.name);
  if (choose(values.filter).length === 0) throw new Error(`no scenario has '${values.filter}' in its name`);
  if (!existsSync(host.executable)) await setup('hosts');
  for (const library of new Set(chosen.flatMap((part) => parts[part].needs))) await fetchLibrary(library);
  let works = true;
  for (const part of chosen) works = (await parts[part].run(host, values)) && works;
  return works ? 0 : 1;
}

try {
  process.exitCode = await bench();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
