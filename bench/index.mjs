// `npm run bench [-- --host node26] [--part calls] [--filter evalSync] [--quick]`: this package beside isolated-vm, or
// quickjs-emscripten where that does not run, and beside other ways. All parts but rough ones write docs/benchmarks/tables.md and BENCHMARKS.json.

import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { hosts } from '../scripts/setup/hosts.mjs';
import { show } from '../scripts/process.mjs';
import { setup } from '../scripts/setup.mjs';
import { cold } from './cold.mjs';
import { fetchLibrary, flagsOf, PEER, peerOf, QUICKJS } from './libraries.mjs';
import { footprint, others, packages, processMemory, programs, scale, shapes, subprocess, sync } from './parts.mjs';
import { profiles } from './profiles.mjs';
import { choose } from './scenarios.mjs';

async function calls(host, values) {
  return (await show(host.executable, [...host.program(flagsOf(host.name), 'bench/run.mjs'), JSON.stringify(values)])) === 0;
}

const parts = {
  calls: { needs: peerOf, run: calls },
  footprint: { needs: peerOf, run: footprint },
  scale: { needs: peerOf, run: scale },
  others: { needs: () => QUICKJS, run: others },
  subprocess: { needs() {}, run: subprocess },
  'process-memory': { needs() {}, run: processMemory },
  packages: { needs() {}, run: packages },
  values: { needs: (host) => (peerOf(host) === PEER ? PEER : undefined), run: shapes },
  cold: { needs: () => PEER, run: cold },
  sync: { needs: (host) => (peerOf(host) === PEER ? PEER : undefined), run: sync },
  programs: { needs: (host) => (peerOf(host) === PEER ? PEER : undefined), run: programs },
  // Not of the tables: it needs an addon with symbols.
  profiles: { needs() {}, run: profiles, apart: true },
};

/** Parts whose scenarios are not those of calls. */
const OWN_SCENARIOS = ['values', 'sync', 'programs', 'cold'];

const options = {
  host: { type: 'string', default: 'node24' },
  part: { type: 'string' },
  filter: { type: 'string' },
  quick: { type: 'boolean', default: false },
};

function chosenParts({ part, filter, quick }) {
  if (part !== undefined && !(part in parts)) throw new Error(`--part is one of ${Object.keys(parts).join(', ')}`);
  // These choose among calls.
  if (part === undefined && (filter !== undefined || quick)) return ['calls'];
  return part === undefined ? Object.keys(parts).filter((name) => !parts[name].apart) : [part];
}

async function bench() {
  const { values } = parseArgs({ options });
  const host = hosts.find(({ name }) => name === values.host);
  if (host === undefined) throw new Error(`--host is one of ${hosts.map(({ name }) => name).join(', ')}`);
  const chosen = chosenParts(values);
  if (!OWN_SCENARIOS.includes(values.part) && choose(values.filter).length === 0) throw new Error(`no scenario has '${values.filter}' in its name`);
  if (!existsSync(host.executable)) await setup('hosts');
  const needed = new Set(chosen.map((part) => parts[part].needs(host.name)));
  for (const library of needed) if (library !== undefined) await fetchLibrary(library);
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
