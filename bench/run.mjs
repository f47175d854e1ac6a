// The process that measures calls: `node --expose-gc --no-node-snapshot bench/run.mjs <options as JSON>`, started by index.mjs.

import { arch, availableParallelism, cpus, platform } from 'node:os';
import { compare, planOf, plans } from './measure.mjs';
import { load, OURS, peerOf, versionOf } from './libraries.mjs';
import { line, publishCalls } from './report.mjs';
import { choose, scenarios } from './scenarios.mjs';

/** In this order, because the others also report to be Node. */
const runtime = ['Bun', 'Deno', 'Node'].find((name) => name.toLowerCase() in process.versions);
const WIDTHS = [74, 11, 11, 7, 7];

const { host, filter, quick } = JSON.parse(process.argv[2]);
const peer = peerOf(host);
const plan = quick ? plans.quick : plans.full;
const libraries = new Map();
for (const name of [OURS, peer]) libraries.set(name, await load(name));
const print = (cells) =>
  console.log(cells.map((cell, i) => (i === 0 ? cell.padEnd(WIDTHS[i]) : cell.padStart(WIDTHS[i]))).join(' '));

const isPossible = ({ uses = [] }) => uses.every((name) => libraries.values().every((library) => name in library));
const chosen = choose(filter).filter(isPossible);

const rows = [];
let complete = chosen.length === scenarios.filter(isPossible).length;
print([`one call of, on ${host}`, OURS, peer, 'ratio', 'CPU']);
for (const scenario of chosen) {
  const { id, title, target } = scenario;
  try {
    const times = await compare(scenario, libraries, plan);
    rows.push({ id, title, target, rounds: planOf(scenario, plan).rounds, times });
    print(line(rows.at(-1), peer));
  } catch (error) {
    print([title, `failed: ${error.message}`]);
    complete = false;
    process.exitCode = 1;
  }
}

// Partial and rough tables are only printed.
if (complete && !quick) {
  publishCalls(host, {
    host: `${runtime} ${process.versions[runtime.toLowerCase()]}`,
    versions: { [OURS]: versionOf(OURS), [peer]: versionOf(peer) },
    platform: `${platform()} ${arch()}`,
    cpus: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    unit: 'ms per call',
    rows,
  });
}
